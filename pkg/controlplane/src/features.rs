//! Feature gates that this server implements, and their metrics.

use component_base::features::{Effective, Gate, Gates};
use component_base::metrics::{Family, Gauge, MetricsRegistry, Page, Stability};
use endpoints::discovery::VersionInfo;

mod implemented;

pub use implemented::IMPLEMENTED;

/// Returns the gates with a non-default setting that this server ignores. It always has the default behavior
/// of its release. Operators should be warned.
pub fn idle(gates: &Gates) -> impl Iterator<Item = Gate> {
    let gates = *gates;
    let usual = Gates::default();
    let idle = |gate: &Gate| !IMPLEMENTED.contains(gate) && !gate.is_shorthand();
    let otherwise = move |gate: &Gate| gates.enabled(*gate) != usual.enabled(*gate);
    Gate::ALL.iter().copied().filter(idle).filter(otherwise)
}

const ENABLED: Family<Gauge, 2> = Family::gauge(
    Stability::Beta,
    "kubernetes_feature_enabled",
    "This metric records the data about the stage and enablement of a k8s feature.",
    ["name", "stage"],
);
const VERSION: Family<Gauge, 4> = Family::gauge(
    Stability::Alpha,
    "version_info",
    "Provides the compatibility version info of the component. The component label is the name of the component, usually kube, but is relevant for aggregated-apiservers.",
    ["binary", "component", "emulation", "min_compat"],
);

/// Registers the metrics of gates and of the releases that set their defaults.
pub(crate) fn register(gates: Gates, registry: &MetricsRegistry) {
    registry.collect(&[&ENABLED, &VERSION], move |page| write(&gates, page));
}

fn write(gates: &Gates, page: &mut Page<'_>) {
    let effective = gates.effective();
    let mut samples = page.family(&ENABLED);
    for &gate in Gate::ALL {
        let Some(spec) = gate.spec_in(effective) else { continue };
        samples.add([gate.name(), spec.stage.name()], gates.enabled(gate));
    }
    drop(samples);
    let binary = VersionInfo::of_this_build().git_version;
    let binary = binary.trim_start_matches('v').split('+').next().unwrap_or_default();
    let Effective { emulation, min_compatibility } = effective;
    let labels = [binary, "kube", &emulation.to_string(), &min_compatibility.to_string()];
    page.family(&VERSION).add(labels, 1);
}

#[cfg(test)]
mod tests {
    use component_base::features::Release;

    use super::*;

    fn emulating(minor: u32, flags: &[(&str, bool)]) -> Gates {
        Gates::new(Effective::emulating(Release::minor_of_1(minor)), flags.iter().copied()).unwrap()
    }

    #[test]
    fn a_gate_that_is_read_is_never_idle() {
        let check = |flags: &[(&str, bool)], expected: &[Gate]| {
            let gates = emulating(Release::THIS.minor, flags);
            assert_eq!(idle(&gates).collect::<Vec<_>>(), expected, "{flags:?}");
        };
        check(&[], &[]);
        check(&[("CBORServingAndStorage", true)], &[]);
        check(&[("TopologyManagerPolicyAlphaOptions", true)], &[Gate::TopologyManagerPolicyAlphaOptions]);
        check(&[("TopologyManagerPolicyAlphaOptions", false)], &[]);
    }

    #[test]
    fn metrics_have_the_gates_of_the_emulated_release() {
        let page = |minor: u32, flags: &[(&str, bool)]| {
            let registry = MetricsRegistry::default();
            register(emulating(minor, flags), &registry);
            registry.to_string()
        };
        let now = page(36, &[("MemoryQoS", true)]);
        let binary = Release::THIS_WITH_PATCH;
        for line in [
            "kubernetes_feature_enabled{name=\"MemoryQoS\",stage=\"ALPHA\"} 1\n",
            "kubernetes_feature_enabled{name=\"WinDSR\",stage=\"\"} 1\n",
            "kubernetes_feature_enabled{name=\"AtomicFIFO\",stage=\"BETA\"} 1\n",
            &format!(
                "version_info{{binary=\"{binary}\",component=\"kube\",emulation=\"1.36\",min_compat=\"1.35\"}} 1\n"
            ),
        ] {
            assert!(now.contains(line), "{line}");
        }
        let before = page(34, &[]);
        assert!(!before.contains("AtomicFIFO"));
        assert!(before.contains("emulation=\"1.34\",min_compat=\"1.34\""));
    }
}
