//! `PersistentVolumeClaimResize` lets only bound claims grow whose storage class allows expansion (upstream's
//! `plugin/pkg/admission/storage/persistentvolume/resize`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, flag, text};
use apimachinery::quantity::Quantity;
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

use crate::default_storage_class::class_of;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict};

const UNBOUND: &str = "Only bound persistent volume claims can be expanded";
const UNSUPPORTED: &str = "only dynamically provisioned pvc can be resized and the storageclass that provisions \
                           the pvc must support resize";

pub struct PersistentVolumeClaimResize {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
}

impl PersistentVolumeClaimResize {
    /// Looks up storage classes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let classes = resources::find("storage.k8s.io", "v1", "storageclasses", "")?;
        Some(PersistentVolumeClaimResize { objects, classes })
    }

    async fn can_grow(&self, new: &Object, old: &Object) -> Result<bool, Box<Status>> {
        let class = class_of(new).unwrap_or_default();
        if class.is_empty() || class_of(old) != Some(class) {
            return Ok(false);
        }
        let class = self.objects.find(self.classes, "", class).await?;
        Ok(class.is_some_and(|class| flag(&class, "allowVolumeExpansion")))
    }
}

/// Returns the requested storage of a claim.
fn size(claim: &Object) -> Quantity {
    let requests = child(claim, "spec").and_then(|spec| child(child(spec, "resources")?, "requests"));
    requests.and_then(|requests| text(requests, "storage").parse().ok()).unwrap_or_default()
}

#[async_trait]
impl Plugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update && a.is("", "persistentvolumeclaims", "")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(new), Some(old)) = (object, a.old) else { return Ok(()) };
        if size(new) <= size(old) {
            return Ok(());
        }
        if child(old, "status").map_or("", |status| text(status, "phase")) != "Bound" {
            return Err(a.forbidden(UNBOUND));
        }
        if self.can_grow(new, old).await? { Ok(()) } else { Err(a.forbidden(UNSUPPORTED)) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    fn claim(class: &str, size: &str, phase: &str) -> Value {
        json!({"metadata": {"name": "c"}, "status": {"phase": phase},
            "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}})
    }

    #[test]
    fn only_bound_claims_of_expandable_classes_grow() {
        let class = |name: &str, grows: bool| {
            ("storageclasses", json!({"metadata": {"name": name}, "allowVolumeExpansion": grows}))
        };
        let plugin =
            PersistentVolumeClaimResize::new(Store::of([class("grows", true), class("fixed", false)]))
                .unwrap();
        let check = |class: &str, phase: &str, size: &str, expected: Option<&str>| {
            let write = Write::of("", "v1", "persistentvolumeclaims").over(claim(class, "2Gi", phase));
            let got = write.validated(&plugin, claim(class, size, phase)).err();
            let message = |cause: &str| format!("persistentvolumeclaims \"c\" is forbidden: {cause}");
            assert_eq!(got, expected.map(message), "{class} {phase} {size}");
        };
        check("grows", "Bound", "3Gi", None);
        check("grows", "Pending", "3Gi", Some(UNBOUND));
        check("fixed", "Bound", "3Gi", Some(UNSUPPORTED));
        check("absent", "Bound", "3Gi", Some(UNSUPPORTED));
        check("", "Bound", "3Gi", Some(UNSUPPORTED));
        check("fixed", "Pending", "2048Mi", None);
        check("fixed", "Pending", "1Gi", None);
    }
}
