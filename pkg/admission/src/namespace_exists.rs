//! `NamespaceExists` rejects writes and deletions in a namespace that does not exist (upstream's
//! `plugin/pkg/admission/namespace/exists`).

use std::sync::Arc;

use api::resources::{self, Resource};
use async_trait::async_trait;
use schema::object::Object;

use crate::objects::not_found;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict};

pub struct NamespaceExists {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
}

impl NamespaceExists {
    /// Looks up namespaces in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(NamespaceExists { objects, namespaces: resources::find("", "v1", "namespaces", "")? })
    }
}

#[async_trait]
impl Plugin for NamespaceExists {
    fn name(&self) -> &'static str {
        "NamespaceExists"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation != Operation::Connect && !a.namespace.is_empty() && !a.is_namespace()
    }

    async fn validate(&self, a: &Attributes<'_>, _: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        match self.objects.find(self.namespaces, "", a.namespace).await? {
            Some(_) => Ok(()),
            None => Err(not_found(self.namespaces, a.namespace)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn a_namespace_must_exist() {
        let pod = json!({"metadata": {"name": "p"}});
        let store = Store::of([]);
        let plugin = NamespaceExists::new(Arc::clone(&store) as _).unwrap();
        let refusal = "namespaces \"ns\" not found".to_owned();
        assert_eq!(Write::default().validated(&plugin, pod.clone()), Err(refusal.clone()));
        assert_eq!(Write::default().with_operation(Operation::Delete).deleted(&plugin, "p"), Err(refusal));
        assert!(!Write::default().with_operation(Operation::Connect).reaches(&plugin));
        store.put_new("namespaces", json!({"metadata": {"name": "ns"}}));
        assert!(Write::default().validated(&plugin, pod).is_ok());
        assert!(Write::of("", "v1", "nodes").validated(&plugin, json!({"metadata": {"name": "n"}})).is_ok());
    }
}
