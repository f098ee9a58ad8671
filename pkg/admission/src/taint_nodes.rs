//! `TaintNodesByCondition` adds the not-ready taint to new nodes, so that nothing is scheduled on them yet
//! (upstream's `plugin/pkg/admission/nodetaint`).

use api::tree::{child, children, text};
use async_trait::async_trait;
use jsontree::json;
use schema::object::Object;

use crate::meta::push;
use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub struct TaintNodesByCondition;

#[async_trait]
impl Plugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("", "nodes", "")
    }

    async fn mutate(&self, _: &Attributes<'_>, node: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(node) = node else { return Ok(()) };
        let is_it = |taint: &Object| text(taint, "key") == NOT_READY && text(taint, "effect") == "NoSchedule";
        if !child(node, "spec").is_some_and(|spec| children(spec, "taints").any(is_it)) {
            push(node, &["spec", "taints"], json!({"key": NOT_READY, "effect": "NoSchedule"}));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Write;

    #[test]
    fn a_new_node_is_not_ready() {
        let write = Write::of("", "v1", "nodes");
        let once = write.mutated(&TaintNodesByCondition, json!({"metadata": {"name": "n"}})).unwrap();
        assert_eq!(once["spec"]["taints"], json!([{"key": NOT_READY, "effect": "NoSchedule"}]));
        assert_eq!(write.mutated(&TaintNodesByCondition, once.clone()), Ok(once));
    }
}
