//! `NamespaceLifecycle`: nothing is created in a namespace that does not exist or is going, and the
//! namespaces that a cluster cannot live without are not deleted
//! (upstream's `admission/plugin/namespace/lifecycle`).

use std::sync::Arc;

use api::resources::{self, Resource};
use apimachinery::status::{Cause, Status};
use async_trait::async_trait;
use schema::object::Object;

use crate::objects::not_found;
use crate::{Attributes, Notes, Objects, Operation, Plugin, Verdict, meta};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The plugin.
pub struct NamespaceLifecycle {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
}

impl NamespaceLifecycle {
    /// Looks namespaces up in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(NamespaceLifecycle { objects, namespaces: resources::find("", "v1", "namespaces", "")? })
    }
}

#[async_trait]
impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        match a.operation {
            Operation::Create | Operation::Update => {
                !a.is_namespace() && !a.namespace.is_empty() && !is_access_review(a)
            }
            Operation::Delete => a.is_namespace(),
            Operation::Connect => false,
        }
    }

    async fn mutate(&self, a: &Attributes<'_>, _: Option<&mut Object>, _: &mut Notes) -> Verdict {
        let found = match a.operation {
            Operation::Delete if IMMORTAL.contains(&a.name) => {
                return Err(a.forbidden("this namespace may not be deleted"));
            }
            Operation::Delete => return Ok(()),
            // Only what is new needs to know whether the namespace is going, and that as of now.
            Operation::Create => self.objects.get(self.namespaces, "", a.namespace).await?,
            _ => self.objects.find(self.namespaces, "", a.namespace).await?,
        };
        match found {
            None => Err(not_found(self.namespaces, a.namespace)),
            Some(found) if a.creates() && meta::is_deleting(&found) => Err(terminating(a)),
            Some(_) => Ok(()),
        }
    }
}

/// Whether this only asks what somebody may do: an answer about the namespace would tell whether it exists.
fn is_access_review(a: &Attributes<'_>) -> bool {
    a.is("authorization.k8s.io", "localsubjectaccessreviews", "")
}

fn terminating(a: &Attributes<'_>) -> Box<Status> {
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
    use serde_json::json;

    use super::*;
    use crate::testing::{Store, Write};

    const GOING: &str = "pods \"p\" is forbidden: unable to create new content in namespace ns because it is being \
                         terminated";

    fn plugin(namespace: Option<serde_json::Value>) -> NamespaceLifecycle {
        let store = Store::of([]);
        if let Some(metadata) = namespace {
            store.put_new("namespaces", json!({"metadata": metadata}));
        }
        NamespaceLifecycle::new(store).unwrap()
    }

    #[test]
    fn content_needs_a_namespace_that_stays() {
        let pod = json!({"metadata": {"name": "p"}});
        let check = |namespace: Option<serde_json::Value>, write: Write, expected: Result<(), &str>| {
            let got = write.mutated(&plugin(namespace), pod.clone()).map(|_| ());
            assert_eq!(got, expected.map_err(str::to_owned));
        };
        let stays = || Some(json!({"name": "ns"}));
        let goes = || Some(json!({"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"}));
        let missing = Err("namespaces \"ns\" not found");
        let update = || Write::default().over(pod.clone());
        check(stays(), Write::default(), Ok(()));
        check(None, Write::default(), missing);
        check(goes(), Write::default(), Err(GOING));
        check(goes(), update(), Ok(()));
        check(None, update(), missing);
    }

    #[test]
    fn what_is_in_a_namespace_may_always_be_deleted_and_connected_to() {
        for operation in [Operation::Delete, Operation::Connect] {
            assert!(!Write::default().doing(operation).reaches(&plugin(None)));
        }
    }

    #[test]
    fn questions_about_rights_do_not_tell_whether_a_namespace_exists() {
        let review = Write::of("authorization.k8s.io", "v1", "localsubjectaccessreviews");
        assert!(!review.reaches(&plugin(None)));
    }

    #[test]
    fn vital_namespaces_are_not_deleted() {
        let delete = Write::of("", "v1", "namespaces").doing(Operation::Delete);
        for name in ["default", "kube-system", "kube-public"] {
            let refusal = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
            assert_eq!(delete.deleted(&plugin(None), name), Err(refusal));
        }
        assert_eq!(delete.deleted(&plugin(None), "kube-node-lease"), Ok(()));
    }
}
