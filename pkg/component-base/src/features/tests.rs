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
            assert!((before.since, before.compatible) < (after.since, after.compatible), "{gate:?}");
            assert!(before.compatible <= after.compatible && after.compatible <= after.since, "{gate:?}");
            assert!(rank(before.stage) <= rank(after.stage), "{gate:?}");
            assert!(!before.locked || after.locked, "{gate:?}");
            assert_ne!(
                *before,
                Spec { since: before.since, compatible: before.compatible, ..*after },
                "{gate:?}"
            );
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
    check(37, Gate::StorageVersionMigrator, true);
    check(36, Gate::StorageVersionMigrator, false);
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
    let locked = "cannot set feature gate HostnameOverride to false, feature is locked to true";
    error(37, &[("HostnameOverride", false)], locked);
    assert!(open(37, &[("HostnameOverride", true)], Gate::HostnameOverride));
    assert!(!open(36, &[("HostnameOverride", false)], Gate::HostnameOverride));
}

#[test]
fn gate_cannot_be_set_before_introduction() {
    let expected = "cannot set feature gate AtomicFIFO to true, feature is PreAlpha at emulated version 1.35, \
                    min compatibility version 1.34";
    error(35, &[("AtomicFIFO", true)], expected);
}

#[test]
fn gate_default_follows_oldest_compatible_release() {
    let gate = Gate::DRAFractionalCapacityRange;
    let enabled = |emulation, min_compatibility| {
        let [emulation, min_compatibility] = [emulation, min_compatibility].map(Release::minor_of_1);
        Gates::defaults(Effective { emulation, min_compatibility }).enabled(gate)
    };
    assert!(!enabled(37, 36));
    assert!(enabled(37, 37));
    assert!(!enabled(36, 36));
}

#[test]
fn gate_requires_other_gates() {
    let gate = Gate::PodGroupPreemptionPolicy;
    let expected = "PodGroupPreemptionPolicy is enabled, but depends on features that are disabled: \
                    [GenericWorkload]";
    error(37, &[(gate.name(), true)], expected);
    assert!(open(37, &[(gate.name(), true), ("GenericWorkload", true)], gate));
}

#[test]
fn removed_gate_is_unknown() {
    for minor in Effective::OLDEST.minor..=Release::THIS.minor {
        error(minor, &[("GangScheduling", true)], "unrecognized feature gate: GangScheduling");
    }
}

#[test]
fn errors_are_in_gate_order() {
    let flags = [("WatchListFoo", true), ("WinDSR", false), ("HostnameOverride", false)];
    let errors = gates(37, &flags).unwrap_err();
    let [unknown, host, win] = errors.as_slice() else { panic!("{errors:?}") };
    assert!(unknown.contains("WatchListFoo") && host.contains("HostnameOverride") && win.contains("WinDSR"));
}
