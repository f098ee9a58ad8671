//! Tests of feature gates.

use super::*;

fn gates(minor: u32, flags: &[(&str, bool)]) -> Result<Gates, Vec<String>> {
    Gates::new(Effective::emulating(Release::minor_of_1(minor)), flags.iter().copied())
        .map_err(|errors| errors.iter().map(GateError::to_string).collect())
}

#[track_caller]
fn open(minor: u32, flags: &[(&str, bool)], gate: Gate) -> bool {
    gates(minor, flags).map(|gates| gates.enabled(gate)).unwrap()
}

#[track_caller]
fn error(minor: u32, flags: &[(&str, bool)], expected: &str) {
    assert_eq!(gates(minor, flags).map(drop), Err(vec![expected.to_owned()]));
}

#[test]
fn every_gate_is_found_by_its_name() {
    for &gate in Gate::ALL {
        assert_eq!(Gate::find(gate.name()), Some(gate));
    }
    assert_eq!(Gate::find("Nothing"), None);
    assert_eq!(Gate::find(""), None);
}

/// Upstream's requirements on histories at registration.
#[test]
fn histories_go_forward() {
    let rank = |stage| match stage {
        Stage::Alpha => 0,
        Stage::Beta => 1,
        Stage::Stable => 2,
        Stage::Deprecated => 3,
    };
    for gate in Gate::ALL {
        assert!(!gate.specs().is_empty(), "{gate:?}");
        for pair in gate.specs().windows(2) {
            let [before, after] = pair else { unreachable!() };
            assert!(before.since < after.since, "{gate:?}");
            assert!(rank(before.stage) <= rank(after.stage), "{gate:?}");
            assert!(!before.locked || after.locked, "{gate:?}");
            assert_ne!(*before, Spec { since: before.since, ..*after }, "{gate:?}");
        }
        assert!(gate.specs().iter().all(|spec| spec.since <= Release::THIS.minor), "{gate:?}");
    }
}

/// Upstream's requirements on dependent gates, for every release that can be emulated.
#[test]
fn default_gates_meet_requirements_in_every_release() {
    for minor in Effective::OLDEST.minor..=Release::THIS.minor {
        gates(minor, &[]).unwrap();
    }
}

#[test]
fn gate_default_follows_emulated_release() {
    let check = |minor: u32, gate: Gate, expected: bool| {
        assert_eq!(open(minor, &[], gate), expected, "{gate:?} in 1.{minor}");
    };
    check(36, Gate::MutatingAdmissionPolicy, true);
    check(35, Gate::MutatingAdmissionPolicy, false);
    check(36, Gate::CRDObservedGenerationTracking, true);
    check(35, Gate::CRDObservedGenerationTracking, false);
    check(34, Gate::CRDObservedGenerationTracking, false);
    check(33, Gate::APIServerTracing, true);
    check(36, Gate::AllAlpha, false);
    check(36, Gate::AllowDNSOnlyNodeCSR, false);
}

#[test]
fn last_value_of_gate_wins() {
    let gate = Gate::CBORServingAndStorage;
    assert!(!open(36, &[], gate));
    assert!(open(36, &[(gate.name(), true)], gate));
    assert!(!open(36, &[(gate.name(), true), (gate.name(), false)], gate));
    assert!(!open(36, &[("OpenAPIEnums", false)], Gate::OpenAPIEnums));
}

#[test]
fn all_alpha_sets_other_alpha_gates() {
    let flags = [("AllAlpha", true), ("ShardedListAndWatch", false), ("AllBeta", true)];
    assert!(open(36, &flags, Gate::CBORServingAndStorage));
    assert!(!open(36, &flags, Gate::ShardedListAndWatch));
    assert!(open(36, &flags, Gate::AllAlpha));
    assert!(open(36, &[("AllBeta", true)], Gate::ClusterTrustBundle));
    assert!(!open(36, &[("AllBeta", true)], Gate::CBORServingAndStorage));
    assert!(!open(36, &[("AllAlpha", true), ("AllBeta", true)], Gate::AllowDNSOnlyNodeCSR));
}

#[test]
fn all_alpha_conflicts_with_disabled_beta_gates() {
    let errors = gates(36, &[("AllAlpha", true), ("AllBeta", false)]).unwrap_err();
    let expected = "PodLevelResourceManagers is enabled, but depends on features that are disabled: \
                    [PodLevelResources]";
    assert!(errors.iter().any(|error| error == expected), "{errors:?}");
    gates(36, &[("AllAlpha", true)]).unwrap();
    gates(36, &[("AllBeta", false)]).unwrap();
}

#[test]
fn unknown_gate_is_an_error() {
    error(36, &[("Nothing", true)], "unrecognized feature gate: Nothing");
}

#[test]
fn a_locked_gate_keeps_its_value() {
    let locked = "cannot set feature gate APIServerTracing to false, feature is locked to true";
    error(36, &[("APIServerTracing", false)], locked);
    assert!(open(36, &[("APIServerTracing", true)], Gate::APIServerTracing));
    assert!(!open(33, &[("APIServerTracing", false)], Gate::APIServerTracing));
}

#[test]
fn gate_cannot_be_set_before_introduction() {
    let expected = "cannot set feature gate AtomicFIFO to true, feature is PreAlpha at emulated version 1.35, \
                    min compatibility version 1.34";
    error(35, &[("AtomicFIFO", true)], expected);
}

#[test]
fn gate_requires_other_gates() {
    let expected = "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]";
    error(36, &[("GangScheduling", true)], expected);
    assert!(open(36, &[("GangScheduling", true), ("GenericWorkload", true)], Gate::GangScheduling));
}

#[test]
fn errors_are_in_gate_order() {
    let flags = [("WatchListFoo", true), ("WinDSR", false), ("APIServerTracing", false)];
    let errors = gates(36, &flags).unwrap_err();
    let [unknown, tracing, win] = errors.as_slice() else { panic!("{errors:?}") };
    assert!(
        unknown.contains("WatchListFoo") && tracing.contains("APIServerTracing") && win.contains("WinDSR")
    );
}
