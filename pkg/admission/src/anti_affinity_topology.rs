//! `LimitPodHardAntiAffinityTopology` limits required pod anti-affinity to the hostname topology key
//! (upstream's `plugin/pkg/admission/antiaffinity`).

use api::tree::{child, children, text};
use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

const HOST: &str = "kubernetes.io/hostname";

pub struct LimitPodHardAntiAffinityTopology;

#[async_trait]
impl Plugin for LimitPodHardAntiAffinityTopology {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.is_pod() && a.writes()
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let affinity =
            object.and_then(|pod| child(child(child(pod, "spec")?, "affinity")?, "podAntiAffinity"));
        let mut terms = affinity
            .into_iter()
            .flat_map(|affinity| children(affinity, "requiredDuringSchedulingIgnoredDuringExecution"));
        match terms.find(|term| text(term, "topologyKey") != HOST) {
            None => Ok(()),
            Some(term) => Err(a.forbidden(format!(
                "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {} but only key {HOST} is allowed",
                text(term, "topologyKey")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::testing::Write;

    #[test]
    fn hard_anti_affinity_is_about_hosts() {
        let check = |key: &str, expected: bool| {
            let terms = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key}]});
            let pod = json!({"metadata": {"name": "p"}, "spec": {"affinity": {"podAntiAffinity": terms}}});
            let got = Write::default().validated(&LimitPodHardAntiAffinityTopology, pod);
            assert_eq!(got.is_ok(), expected, "{key} {got:?}");
        };
        check(HOST, true);
        check("zone", false);
    }
}
