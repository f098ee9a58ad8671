//! `NamespaceAutoProvision` creates a missing namespace when an object is created in it (upstream's
//! `plugin/pkg/admission/namespace/autoprovision`).

use std::sync::Arc;

use api::resources::{self, Resource};
use apimachinery::status::Reason;
use async_trait::async_trait;
use schema::object::{self, Object};

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, Writes};

pub struct NamespaceAutoProvision {
    objects: Arc<dyn Objects>,
    writes: Arc<dyn Writes>,
    namespaces: &'static Resource<'static>,
}

impl NamespaceAutoProvision {
    /// Looks up namespaces in `objects` and creates them with `writes`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>, writes: Arc<dyn Writes>) -> Option<Self> {
        let namespaces = resources::find("", "v1", "namespaces", "")?;
        Some(NamespaceAutoProvision { objects, writes, namespaces })
    }
}

#[async_trait]
impl Plugin for NamespaceAutoProvision {
    fn name(&self) -> &'static str {
        "NamespaceAutoProvision"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && !a.dry_run() && !a.namespace.is_empty() && !a.is_namespace()
    }

    async fn mutate(&self, a: &Attributes<'_>, _: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        if self.objects.cached(self.namespaces, "", a.namespace).await?.is_some() {
            return Ok(());
        }
        let mut namespace = Object::new();
        object::set(&mut namespace, &["metadata", "name"], a.namespace);
        match self.writes.create(self.namespaces, namespace).await {
            Err(status) if status.reason != Reason::AlreadyExists => Err(a.forbidden(&status.message)),
            _ => Ok(()),
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
    fn missing_namespace_is_created_except_in_dry_run() {
        let check = |dry_run: bool| {
            let store = Store::of([]);
            let plugin =
                NamespaceAutoProvision::new(Arc::clone(&store) as _, Arc::clone(&store) as _).unwrap();
            let write = Write { dry_run, ..Write::default() };
            write.mutated(&plugin, json!({"metadata": {"name": "p"}})).unwrap();
            assert_eq!(store.read("namespaces", "", "ns").is_some(), !dry_run);
        };
        check(false);
        check(true);
    }
}
