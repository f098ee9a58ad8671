//! `DefaultStorageClass` sets the default class on a claim without a storage class (upstream's
//! `plugin/pkg/admission/storage/storageclass/setdefault`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, maybe_text};
use async_trait::async_trait;
use schema::object::{self, Object};

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, default_class, meta};

/// The annotations that mark the default class, current and deprecated.
const MARKS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
/// The deprecated annotation for the class of a claim.
pub(crate) const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub struct DefaultStorageClass {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
}

impl DefaultStorageClass {
    /// Looks up classes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let classes = resources::find("storage.k8s.io", "v1", "storageclasses", "")?;
        Some(DefaultStorageClass { objects, classes })
    }
}

/// Returns the class of a claim. The class may be the empty string.
pub(crate) fn class_of(claim: &Object) -> Option<&str> {
    let named = || maybe_text(child(claim, "spec")?, "storageClassName");
    meta::annotation(claim, OLD_CLASS).or_else(named)
}

#[async_trait]
impl Plugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("", "persistentvolumeclaims", "")
    }

    async fn mutate(
        &self,
        _: &Attributes<'_>,
        claim: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(claim) = claim else { return Ok(()) };
        if class_of(claim).is_some() {
            return Ok(());
        }
        let classes = self.objects.list(self.classes, "").await?;
        if let Some(class) = default_class::newest(classes, &MARKS) {
            object::set(claim, &["spec", "storageClassName"], meta::text(&class, "name"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn a_claim_without_class_gets_the_default_one() {
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
        let class = json!({"metadata": {"name": "fast", "annotations": annotations}});
        let plugin = DefaultStorageClass::new(Store::of([("storageclasses", class)])).unwrap();
        let write = Write::of("", "v1", "persistentvolumeclaims");
        let check = |claim: Value, expected: Value| {
            let got = write.mutated(&plugin, claim).unwrap();
            assert_eq!(got["spec"]["storageClassName"], expected);
        };
        check(json!({"metadata": {"name": "c"}, "spec": {}}), json!("fast"));
        check(json!({"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}), json!(""));
        let old = json!({"metadata": {"name": "c", "annotations": {OLD_CLASS: "x"}}, "spec": {}});
        check(old, json!(null));
    }
}
