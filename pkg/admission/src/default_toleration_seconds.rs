//! `DefaultTolerationSeconds` adds tolerations for not-ready and unreachable nodes to pods that have none
//! (upstream's `plugin/pkg/admission/defaulttolerationseconds`).

use api::tree::{child_mut, children, text};
use async_trait::async_trait;
use jsontree::json;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

pub struct DefaultTolerationSeconds {
    /// Taints with their toleration in seconds.
    taints: [(&'static str, i64); 2],
}

impl DefaultTolerationSeconds {
    /// Sets the tolerations, in seconds, for nodes that are not ready and for unreachable nodes.
    pub fn new(not_ready: i64, unreachable: i64) -> Self {
        let taints =
            [("node.kubernetes.io/not-ready", not_ready), ("node.kubernetes.io/unreachable", unreachable)];
        DefaultTolerationSeconds { taints }
    }
}

#[async_trait]
impl Plugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.is_pod() && a.writes()
    }

    async fn mutate(&self, _: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let Some(spec) = child_mut(pod, "spec") else { return Ok(()) };
        let missing =
            self.taints.map(|(taint, _)| !children(spec, "tolerations").any(|t| tolerates(t, taint)));
        for ((key, seconds), _) in self.taints.iter().zip(missing).filter(|(_, missing)| *missing) {
            let toleration = json!(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
            meta::push(spec, &["tolerations"], toleration);
        }
        Ok(())
    }
}

/// True if the toleration already covers the taint.
fn tolerates(toleration: &Object, taint: &str) -> bool {
    let any_or = |name, value| matches!(text(toleration, name), "") || text(toleration, name) == value;
    any_or("key", taint) && any_or("effect", "NoExecute")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::Value;

    use super::*;
    use crate::testing::Write;

    #[test]
    fn pod_without_tolerations_gets_both_defaults() {
        let default = |key: &str, seconds: i64| {
            json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": seconds})
        };
        let not_ready = default("not-ready", 30);
        let unreachable = default("unreachable", 40);
        let check = |tolerations: Value, expected: Value| {
            let pod = json!({"metadata": {"name": "p"}, "spec": {"tolerations": tolerations}});
            let got = Write::default().mutated(&DefaultTolerationSeconds::new(30, 40), pod).unwrap();
            assert_eq!(got["spec"]["tolerations"], expected);
        };
        check(json!([]), json!([not_ready, unreachable]));
        check(json!([{"operator": "Exists"}]), json!([{"operator": "Exists"}]));
        let schedule = json!({"operator": "Exists", "effect": "NoSchedule"});
        check(json!([schedule]), json!([schedule, not_ready, unreachable]));
        let existing = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists"});
        check(json!([existing]), json!([existing, unreachable]));
    }
}
