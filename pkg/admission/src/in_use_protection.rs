//! `StorageObjectInUseProtection`: volumes, claims and volume attributes classes do not vanish while they are
//! used; a finalizer that their controllers remove sees to that
//! (upstream's `plugin/pkg/admission/storage/storageobjectinuseprotection`).

use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

/// The plugin.
pub struct StorageObjectInUseProtection;

fn finalizer(a: &Attributes<'_>) -> Option<&'static str> {
    match (a.resource.group, a.resource.plural, a.subresource()) {
        ("", "persistentvolumes", "") => Some("kubernetes.io/pv-protection"),
        ("", "persistentvolumeclaims", "") => Some("kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "volumeattributesclasses", "") => Some("kubernetes.io/vac-protection"),
        _ => None,
    }
}

#[async_trait]
impl Plugin for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && finalizer(a).is_some()
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        if let Some(finalizer) = finalizer(a) {
            meta::add_finalizer(object, finalizer);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::Write;

    #[test]
    fn what_may_be_in_use_is_protected_once() {
        let check = |write: Write, expected: jsontree::Value| {
            let object = json!({"metadata": {"name": "a", "finalizers": ["x"]}});
            let once = write.mutated(&StorageObjectInUseProtection, object).unwrap();
            assert_eq!(once["metadata"]["finalizers"], expected);
            assert_eq!(write.mutated(&StorageObjectInUseProtection, once.clone()), Ok(once));
        };
        check(Write::of("", "v1", "persistentvolumes"), json!(["x", "kubernetes.io/pv-protection"]));
        check(Write::of("", "v1", "persistentvolumeclaims"), json!(["x", "kubernetes.io/pvc-protection"]));
        let classes = Write::of("storage.k8s.io", "v1", "volumeattributesclasses");
        check(classes, json!(["x", "kubernetes.io/vac-protection"]));
        check(Write::of("", "v1", "configmaps"), json!(["x"]));
    }
}
