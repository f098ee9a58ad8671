//! Comparison with upstream's resources under these flags.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use component_base::features::{Effective, Gate};

use super::*;

fn serving(minor: u32, runtime_config: &[(&str, &str)]) -> ServedSelection {
    let pairs: Vec<_> = runtime_config.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    ServedSelection {
        gates: Gates::defaults(Effective::emulating(Release::minor_of_1(minor))),
        runtime_config: RuntimeConfig::parse(&pairs).unwrap(),
        ..ServedSelection::default()
    }
}

fn has(serving: ServedSelection, group: &str, version: &str, plural: &str) -> bool {
    serving.rows().unwrap()(resources::find(group, version, plural, "").unwrap())
}

#[test]
fn current_release_serves_defaults() {
    let serves = ServedSelection::default().rows().unwrap();
    for row in resources::all() {
        assert_eq!(serves(row), !row.off_by_default, "{} {}", row.group_version, row.path());
    }
}

#[test]
fn emulated_release_lacks_newer_resources() {
    let group = "resource.k8s.io";
    let plural = "deviceclasses";
    assert!(!has(serving(33, &[]), group, "v1", plural));
    assert!(has(serving(34, &[]), group, "v1", plural));
    let older = [("resource.k8s.io/v1beta1", "true")];
    assert!(has(serving(33, &older), group, "v1beta1", plural));
    assert!(!has(serving(33, &older), group, "v1", plural));
    let forward = ServedSelection { forward_compatible: true, ..serving(33, &older) };
    assert!(has(forward, group, "v1", plural), "its newer versions are on where that is wanted");
}

#[test]
fn naming_newer_resources_is_an_error() {
    let refused =
        |runtime_config: &[(&str, &str)]| serving(33, runtime_config).rows().err().unwrap().to_string();
    assert_eq!(
        refused(&[("resource.k8s.io/v1", "true")]),
        "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have been introduced \
         after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true"
    );
    assert_eq!(
        refused(&[("resource.k8s.io/v1/deviceclasses", "true")]),
        "cannot enable resource resource.k8s.io/v1, Resource=deviceclasses in runtime-config because it is introduced \
         at 1.34 after the current version 1.33. Consider setting \
         --runtime-config-emulation-forward-compatible=true"
    );
    let accepted = ServedSelection {
        runtime_config_forward_compatible: true,
        ..serving(33, &[("resource.k8s.io/v1", "true")])
    };
    assert!(has(accepted, "resource.k8s.io", "v1", "deviceclasses"));
}

#[test]
fn disabled_gate_overrides_runtime_config() {
    let selection = serving(37, &[("scheduling.k8s.io/v1alpha3/workloads", "true")]);
    let open =
        ServedSelection { gates: selection.gates.with(Gate::GenericWorkload, true), ..selection.clone() };
    let closed = ServedSelection { gates: selection.gates.with(Gate::GenericWorkload, false), ..selection };
    assert!(has(open, "scheduling.k8s.io", "v1alpha3", "workloads"));
    assert!(!has(closed, "scheduling.k8s.io", "v1alpha3", "workloads"));
}
