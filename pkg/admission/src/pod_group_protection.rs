//! `PodGroupProtection` adds a finalizer to pod groups, so that they are not removed while they contain pods.
//! Their controller removes the finalizer (upstream's `plugin/pkg/admission/scheduling/podgroupprotection`).

use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";

pub struct PodGroupProtection;

#[async_trait]
impl Plugin for PodGroupProtection {
    fn name(&self) -> &'static str {
        "PodGroupProtection"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("scheduling.k8s.io", "podgroups", "")
    }

    async fn mutate(
        &self,
        _: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        if let Some(group) = object {
            meta::add_finalizer(group, FINALIZER);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::Operation;
    use crate::testing::Write;

    #[test]
    fn a_new_group_is_protected_once() {
        let write = Write::of("scheduling.k8s.io", "v1beta1", "podgroups");
        let group = json!({"metadata": {"name": "g", "finalizers": ["x"]}});
        let once = write.mutated(&PodGroupProtection, group.clone()).unwrap();
        assert_eq!(once["metadata"]["finalizers"], json!(["x", FINALIZER]));
        assert_eq!(write.mutated(&PodGroupProtection, once.clone()), Ok(once));
        let update = write.with_operation(Operation::Update);
        assert_eq!(update.mutated(&PodGroupProtection, group.clone()), Ok(group));
    }
}
