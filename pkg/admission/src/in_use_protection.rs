//! `StorageObjectInUseProtection` adds a finalizer to volumes, claims and volume attributes classes, so that
//! they are not removed while in use. Their controllers remove the finalizer (upstream's
//! `plugin/pkg/admission/storage/storageobjectinuseprotection`).

use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

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
    fn finalizer_is_added_once() {
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
