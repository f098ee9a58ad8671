//! `NamespaceLifecycle` rejects creations in a missing or terminating namespace and deletions of the
//! cluster's vital namespaces (upstream's `admission/plugin/namespace/lifecycle`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use api::resources::{self, Resource};
use apimachinery::status::{Cause, Status};
use async_trait::async_trait;
use schema::object::Object;

use crate::objects::not_found;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict, meta};

/// Namespaces that cannot be deleted.
const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Maximum number of recently deleted namespaces to remember. For these, an `Active` state in the informer is
/// not trusted.
const DELETED_MAX: usize = 100;

/// Informer of namespaces. It may lag behind storage.
pub trait NamespaceStates: Send + Sync + 'static {
    /// True if the namespace is not terminating. `None` if the informer does not have it.
    fn is_active(&self, name: &str) -> Option<bool>;
}

pub struct NamespaceLifecycle {
    objects: Arc<dyn Objects>,
    namespace_states: Arc<dyn NamespaceStates>,
    row: &'static Resource<'static>,
    /// Namespaces that this server accepted for deletion, newest last. A later creation in such a namespace
    /// is rejected even if the informer still lags behind.
    deleted: Mutex<VecDeque<Box<str>>>,
}

impl NamespaceLifecycle {
    /// Looks up namespaces in `view`. Falls back to `objects` if `view` lacks the namespace or reports it as
    /// terminating. `None` if namespaces are not served.
    pub fn new(objects: Arc<dyn Objects>, namespace_states: Arc<dyn NamespaceStates>) -> Option<Self> {
        let row = resources::find("", "v1", "namespaces", "")?;
        Some(NamespaceLifecycle { objects, namespace_states, row, deleted: Mutex::default() })
    }

    /// Records the deletion of a namespace. The deletion may still fail later.
    fn note_deletion(&self, name: &str) {
        let mut deleted = self.deleted.lock().unwrap_or_else(PoisonError::into_inner);
        deleted.retain(|deleted_name| **deleted_name != *name);
        if deleted.len() >= DELETED_MAX {
            deleted.pop_front();
        }
        deleted.push_back(name.into());
    }

    fn was_deleted(&self, name: &str) -> bool {
        let deleted = self.deleted.lock().unwrap_or_else(PoisonError::into_inner);
        deleted.iter().any(|deleted_name| **deleted_name == *name)
    }

    /// True if the informer alone is enough to accept a request.
    fn is_allowed_by_informer(&self, a: &Attributes<'_>) -> bool {
        self.namespace_states.is_active(a.namespace) == Some(true) && !self.was_deleted(a.namespace)
    }
}

#[async_trait]
impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        match a.operation {
            Operation::Create => !a.is_namespace() && !a.namespace.is_empty() && !is_access_review(a),
            Operation::Delete => a.is_namespace(),
            Operation::Update | Operation::Connect => false,
        }
    }

    async fn mutate(&self, a: &Attributes<'_>, _: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        if a.operation == Operation::Delete {
            if PROTECTED_NAMESPACES.contains(&a.name) {
                return Err(a.forbidden("this namespace may not be deleted"));
            }
            self.note_deletion(a.name);
            return Ok(());
        }
        if self.is_allowed_by_informer(a) {
            return Ok(());
        }
        match self.objects.get(self.row, "", a.namespace).await? {
            None => Err(not_found(self.row, a.namespace)),
            Some(namespace) if meta::is_deleting(&namespace) => Err(terminating_error(a)),
            Some(_) => Ok(()),
        }
    }
}

/// True for access reviews. They are exempt, because the error would reveal whether the namespace exists.
fn is_access_review(a: &Attributes<'_>) -> bool {
    a.is("authorization.k8s.io", "localsubjectaccessreviews", "")
}

fn terminating_error(a: &Attributes<'_>) -> Box<Status> {
    let namespace = a.namespace;
    let cause =
        format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = a.forbidden(&cause);
    status.details.get_or_insert_default().causes = vec![Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    }];
    status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::{Store, Write};

    const TERMINATING: &str = "pods \"p\" is forbidden: unable to create new content in namespace ns because it is being \
                         terminated";

    impl NamespaceStates for Option<bool> {
        fn is_active(&self, _: &str) -> Option<bool> {
            *self
        }
    }

    /// Plugin with this state in the informer and this namespace in storage.
    fn plugin_with(view: Option<bool>, namespace: Option<jsontree::Value>) -> NamespaceLifecycle {
        let store = Store::of([]);
        if let Some(metadata) = namespace {
            store.put_new("namespaces", json!({"metadata": metadata}));
        }
        NamespaceLifecycle::new(store, Arc::new(view)).unwrap()
    }

    fn plugin(namespace: Option<jsontree::Value>) -> NamespaceLifecycle {
        plugin_with(None, namespace)
    }

    #[test]
    fn active_namespace_in_informer_is_trusted() {
        let pod = || json!({"metadata": {"name": "p"}});
        let check = |view: bool, namespace: Option<jsontree::Value>, passes: bool| {
            let got = Write::default().mutated(&plugin_with(Some(view), namespace), pod());
            assert_eq!(got.is_ok(), passes);
        };
        let terminating = json!({"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        check(true, None, true);
        check(false, Some(terminating), false);
        // The namespace was created again, and the informer lags behind.
        check(false, Some(json!({"name": "ns"})), true);
    }

    #[test]
    fn creation_after_namespace_deletion_is_rejected() {
        let terminating = json!({"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let plugin = plugin_with(Some(true), Some(terminating));
        let create = || Write::default().mutated(&plugin, json!({"metadata": {"name": "p"}})).map(|_| ());
        assert_eq!(create(), Ok(()));
        let delete = Write::of("", "v1", "namespaces").with_operation(Operation::Delete);
        assert_eq!(delete.deleted(&plugin, "ns"), Ok(()));
        assert_eq!(create(), Err(TERMINATING.to_owned()));
    }

    #[test]
    fn recorded_deletions_are_bounded() {
        let plugin = plugin(None);
        (0..=DELETED_MAX).for_each(|n| plugin.note_deletion(&n.to_string()));
        assert_eq!([0, 1].map(|n| plugin.was_deleted(&n.to_string())), [false, true]);
    }

    #[test]
    fn creation_needs_active_namespace() {
        let pod = json!({"metadata": {"name": "p"}});
        let check = |namespace: Option<jsontree::Value>, write: Write, expected: Result<(), &str>| {
            let got = write.mutated(&plugin(namespace), pod.clone()).map(|_| ());
            assert_eq!(got, expected.map_err(str::to_owned));
        };
        let stays = || Some(json!({"name": "ns"}));
        let terminating = || Some(json!({"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"}));
        let missing = Err("namespaces \"ns\" not found");
        let update = || Write::default().over(pod.clone());
        check(stays(), Write::default(), Ok(()));
        check(None, Write::default(), missing);
        check(terminating(), Write::default(), Err(TERMINATING));
        check(terminating(), update(), Ok(()));
        check(None, update(), Ok(()));
    }

    #[test]
    fn only_creations_depend_on_the_namespace() {
        for operation in [Operation::Update, Operation::Delete, Operation::Connect] {
            assert!(!Write::default().with_operation(operation).reaches(&plugin(None)));
        }
    }

    #[test]
    fn access_reviews_do_not_reveal_missing_namespace() {
        let review = Write::of("authorization.k8s.io", "v1", "localsubjectaccessreviews");
        assert!(!review.reaches(&plugin(None)));
    }

    #[test]
    fn vital_namespaces_are_not_deleted() {
        let delete = Write::of("", "v1", "namespaces").with_operation(Operation::Delete);
        for name in ["default", "kube-system", "kube-public"] {
            let refusal = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
            assert_eq!(delete.deleted(&plugin(None), name), Err(refusal));
        }
        assert_eq!(delete.deleted(&plugin(None), "kube-node-lease"), Ok(()));
    }
}
