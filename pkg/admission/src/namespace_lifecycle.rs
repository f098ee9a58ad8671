//! `NamespaceLifecycle`: nothing is created in a namespace that does not exist or is going, and the
//! namespaces that a cluster cannot live without are not deleted
//! (upstream's `admission/plugin/namespace/lifecycle`).

use std::sync::Arc;

use apimachinery::gvk::GroupResource;
use apimachinery::status::{Cause, Status};
use async_trait::async_trait;

use crate::{Attributes, Operation, Plugin};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Resources that may be created while their namespace is going, so that it can go in order.
const REVIEW_GROUP: &str = "authorization.k8s.io";

/// What is known of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceState {
    /// It does not exist.
    Absent,
    /// It can be written to.
    Active,
    /// It is being deleted.
    Terminating,
}

/// Looks namespaces up.
#[async_trait]
pub trait Namespaces: Send + Sync + 'static {
    /// The state of a namespace, as fresh as storage has it.
    async fn state(&self, name: &str) -> Result<NamespaceState, Box<Status>>;
}

/// The plugin.
pub struct NamespaceLifecycle {
    namespaces: Arc<dyn Namespaces>,
}

impl NamespaceLifecycle {
    /// Asks `namespaces`.
    pub fn new(namespaces: Arc<dyn Namespaces>) -> Self {
        NamespaceLifecycle { namespaces }
    }
}

#[async_trait]
impl Plugin for NamespaceLifecycle {
    async fn validate(&self, a: Attributes<'_>) -> Result<(), Box<Status>> {
        let is_namespace = a.group.is_empty() && a.resource == "namespaces";
        let resource = GroupResource::new(a.group, a.resource);
        if is_namespace && a.operation == Operation::Delete && IMMORTAL.contains(&a.name) {
            return Err(Status::forbidden(&resource, a.name, "this namespace may not be deleted").into());
        }
        if a.operation != Operation::Create
            || is_namespace
            || a.namespace.is_empty()
            || a.group == REVIEW_GROUP
        {
            return Ok(());
        }
        match self.namespaces.state(a.namespace).await? {
            NamespaceState::Active => Ok(()),
            NamespaceState::Absent => {
                Err(Status::not_found(&GroupResource::new("", "namespaces"), a.namespace).into())
            }
            NamespaceState::Terminating => Err(terminating(&resource, &a).into()),
        }
    }
}

fn terminating(resource: &GroupResource, a: &Attributes<'_>) -> Status {
    let cause =
        format!("unable to create new content in namespace {} because it is being terminated", a.namespace);
    let mut status = Status::forbidden(resource, a.name, &cause);
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
    use super::*;

    struct Fixed(NamespaceState);

    #[async_trait]
    impl Namespaces for Fixed {
        async fn state(&self, _: &str) -> Result<NamespaceState, Box<Status>> {
            Ok(self.0)
        }
    }

    fn check(
        state: NamespaceState,
        operation: Operation,
        resource: &str,
        name: &str,
        expected: Result<(), u16>,
    ) {
        let plugin = NamespaceLifecycle::new(Arc::new(Fixed(state)));
        let attributes = Attributes {
            operation,
            group: "",
            resource,
            kind: "X",
            subresource: "",
            namespace: if resource == "namespaces" { name } else { "ns" },
            name,
            object: None,
            old: None,
            dry_run: false,
        };
        let mut future = plugin.validate(attributes);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let got = match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(got) => got.map_err(|s| s.code),
            std::task::Poll::Pending => unreachable!("the lookup never waits"),
        };
        assert_eq!(got, expected, "{state:?} {operation:?} {resource} {name}");
    }

    #[test]
    fn content_needs_a_namespace_that_stays() {
        use NamespaceState::{Absent, Active, Terminating};
        check(Active, Operation::Create, "pods", "a", Ok(()));
        check(Absent, Operation::Create, "pods", "a", Err(404));
        check(Terminating, Operation::Create, "pods", "a", Err(403));
        check(Terminating, Operation::Update, "pods", "a", Ok(()));
        check(Terminating, Operation::Delete, "pods", "a", Ok(()));
    }

    #[test]
    fn vital_namespaces_are_not_deleted() {
        use NamespaceState::Active;
        for name in ["default", "kube-system", "kube-public"] {
            check(Active, Operation::Delete, "namespaces", name, Err(403));
        }
        check(Active, Operation::Delete, "namespaces", "kube-node-lease", Ok(()));
    }
}
