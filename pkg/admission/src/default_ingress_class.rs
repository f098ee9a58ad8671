//! `DefaultIngressClass` sets the default class on an ingress without a class (upstream's
//! `plugin/pkg/admission/network/defaultingressclass`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, maybe_text};
use async_trait::async_trait;
use schema::object::{self, Object};

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, default_class, meta};

const MARK: &str = "ingressclass.kubernetes.io/is-default-class";
/// The deprecated annotation for the class of an ingress.
const OLD_CLASS: &str = "kubernetes.io/ingress.class";

pub struct DefaultIngressClass {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
}

impl DefaultIngressClass {
    /// Looks up classes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let classes = resources::find("networking.k8s.io", "v1", "ingressclasses", "")?;
        Some(DefaultIngressClass { objects, classes })
    }
}

#[async_trait]
impl Plugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("networking.k8s.io", "ingresses", "")
    }

    async fn mutate(
        &self,
        _: &Attributes<'_>,
        ingress: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(ingress) = ingress else { return Ok(()) };
        let named = child(ingress, "spec").and_then(|spec| maybe_text(spec, "ingressClassName"));
        if named.is_some() || meta::annotation(ingress, OLD_CLASS).is_some() {
            return Ok(());
        }
        let classes = self.objects.list(self.classes, "").await?;
        if let Some(class) = default_class::newest(classes, &[MARK]) {
            object::set(ingress, &["spec", "ingressClassName"], meta::text(&class, "name"));
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
    fn an_ingress_without_class_gets_the_default_one() {
        let class = json!({"metadata": {"name": "edge", "annotations": {MARK: "true"}}});
        let plugin = DefaultIngressClass::new(Store::of([("ingressclasses", class)])).unwrap();
        let write = Write::of("networking.k8s.io", "v1", "ingresses");
        let check = |ingress: Value, expected: Value| {
            let got = write.mutated(&plugin, ingress).unwrap();
            assert_eq!(got["spec"]["ingressClassName"], expected);
        };
        check(json!({"metadata": {"name": "i"}}), json!("edge"));
        check(json!({"metadata": {"name": "i"}, "spec": {"ingressClassName": "own"}}), json!("own"));
        check(json!({"metadata": {"name": "i", "annotations": {OLD_CLASS: "x"}}, "spec": {}}), json!(null));
    }
}
