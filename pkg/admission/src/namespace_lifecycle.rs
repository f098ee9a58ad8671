//! `NamespaceLifecycle`: nothing is created in a namespace that does not exist or is going, and the
//! namespaces that a cluster cannot live without are not deleted
//! (upstream's `admission/plugin/namespace/lifecycle`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree;
use apimachinery::gvk::GroupResource;
use apimachinery::status::{Cause, Status};
use async_trait::async_trait;
use schema::object::Object;

use crate::{Attributes, Objects, Operation, Plugin, Verdict, Warnings};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Resources that may be created while their namespace is going, so that it can go in order.
const REVIEW_GROUP: &str = "authorization.k8s.io";

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
            Operation::Create => {
                !is_namespace(a) && !a.namespace.is_empty() && a.resource.group != REVIEW_GROUP
            }
            Operation::Update => false,
            Operation::Delete => is_namespace(a),
        }
    }

    async fn mutate(&self, a: &Attributes<'_>, _: &mut Object, _: &mut Warnings) -> Verdict {
        match self.objects.get(self.namespaces, "", a.namespace).await? {
            None => Err(Status::not_found(&GroupResource::new("", "namespaces"), a.namespace).into()),
            Some(found)
                if tree::child(&found, "metadata").is_some_and(|m| m.contains_key("deletionTimestamp")) =>
            {
                Err(terminating(a).into())
            }
            Some(_) => Ok(()),
        }
    }

    async fn validate(&self, a: &Attributes<'_>, _: Option<&Object>, _: &mut Warnings) -> Verdict {
        match a.operation == Operation::Delete && IMMORTAL.contains(&a.name) {
            true => Err(a.forbidden("this namespace may not be deleted")),
            false => Ok(()),
        }
    }
}

fn is_namespace(a: &Attributes<'_>) -> bool {
    a.resource.group.is_empty() && a.resource.plural == "namespaces"
}

fn terminating(a: &Attributes<'_>) -> Status {
    let cause =
        format!("unable to create new content in namespace {} because it is being terminated", a.namespace);
    let mut status = Status::forbidden(&a.group_resource(), a.name, &cause);
    status.details.get_or_insert_default().causes = vec![Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {} is being terminated", a.namespace),
        field: "metadata.namespace".to_owned(),
    }];
    status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use apimachinery::user_info::UserInfo;
    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    /// Namespaces of one name, which exist (`Some`) and may be going (`true`), or do not.
    struct Fixed(Option<bool>);

    #[async_trait]
    impl Objects for Fixed {
        async fn cached(
            &self,
            _: &'static Resource<'static>,
            _: &str,
            _: &str,
        ) -> Result<Option<Arc<Object>>, Box<Status>> {
            Ok(None)
        }

        async fn get(
            &self,
            _: &'static Resource<'static>,
            _: &str,
            _: &str,
        ) -> Result<Option<Arc<Object>>, Box<Status>> {
            let object = self.0.map(|going| match going {
                true => json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                false => json!({"metadata": {}}),
            });
            Ok(object.and_then(|object| object.as_object().cloned()).map(Arc::new))
        }

        async fn list(
            &self,
            _: &'static Resource<'static>,
            _: &str,
        ) -> Result<Vec<Arc<Object>>, Box<Status>> {
            Ok(Vec::new())
        }
    }

    fn check(
        namespace: Option<bool>,
        operation: Operation,
        resource: &str,
        name: &str,
        expected: Result<(), u16>,
    ) {
        let plugin = NamespaceLifecycle::new(Arc::new(Fixed(namespace))).unwrap();
        let attributes = Attributes {
            operation,
            user: &UserInfo::default(),
            resource: resources::find("", "v1", resource, "").unwrap(),
            subresource: "",
            namespace: if resource == "namespaces" { name } else { "ns" },
            name,
            old: None,
            dry_run: false,
        };
        let mut warnings = Vec::new();
        let got = match operation {
            _ if !plugin.handles(&attributes) => Some(Ok(())),
            Operation::Delete => plugin.validate(&attributes, None, &mut warnings).now_or_never(),
            _ => plugin.mutate(&attributes, &mut Object::new(), &mut warnings).now_or_never(),
        };
        let got = got.unwrap().map_err(|status| status.code);
        assert_eq!(got, expected, "{namespace:?} {operation:?} {resource} {name}");
    }

    #[test]
    fn content_needs_a_namespace_that_stays() {
        check(Some(false), Operation::Create, "pods", "a", Ok(()));
        check(None, Operation::Create, "pods", "a", Err(404));
        check(Some(true), Operation::Create, "pods", "a", Err(403));
        check(Some(true), Operation::Update, "pods", "a", Ok(()));
        check(Some(true), Operation::Delete, "pods", "a", Ok(()));
    }

    #[test]
    fn vital_namespaces_are_not_deleted() {
        for name in ["default", "kube-system", "kube-public"] {
            check(Some(false), Operation::Delete, "namespaces", name, Err(403));
        }
        check(Some(false), Operation::Delete, "namespaces", "kube-node-lease", Ok(()));
    }
}
