//! Rejects early writes. A server does not write a resource before it has published its storage version
//! (upstream's `WithStorageVersionPrecondition`).

use apimachinery::request_info::RequestInfo;
use apimachinery::status::{Reason, Status};
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use registry::client::APISERVER_USER;

/// Reports the resources that cannot be written yet.
pub trait WriteBarrier: Send + Sync + 'static {
    /// Returns `None` if writes are allowed. Otherwise returns the reason for the missing registration, if
    /// known.
    fn pending(&self, group: &str, resource: &str) -> Option<Option<String>>;
}

/// Checks that a request may write.
///
/// # Errors
/// 503 for a write that must wait.
pub(crate) fn check(
    barrier: &dyn WriteBarrier,
    info: &RequestInfo,
    user: &UserInfo,
) -> Result<(), Box<Status>> {
    let group = info.group.as_str();
    let resource = info.resource.as_str();
    let is_free = match (group, resource) {
        ("internal.apiserver.k8s.io", "storageversions") => true,
        // Leases of API server identity and of leader election.
        ("coordination.k8s.io", "leases") => info.namespace == "kube-system",
        ("", "namespaces") => {
            let is_server =
                user.name == APISERVER_USER && user.groups.iter().any(|name| name == GROUP_MASTERS);
            info.verb == "create" && is_server
        }
        _ => false,
    };
    if !info.is_resource || is_free || matches!(info.verb.as_str(), "get" | "list" | "watch") {
        return Ok(());
    }
    let Some(error) = barrier.pending(group, resource) else { return Ok(()) };
    let dot = if group.is_empty() { "" } else { "." };
    let error = error.as_deref().unwrap_or("<nil>");
    let message = format!(
        "wait for storage version registration to complete for resource: {resource}{dot}{group}, last seen error: {error}"
    );
    Err(Status::failure(503, Reason::ServiceUnavailable, message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Jobs;

    impl WriteBarrier for Jobs {
        fn pending(&self, group: &str, resource: &str) -> Option<Option<String>> {
            (group == "batch" && resource == "jobs" || resource == "namespaces" || resource == "leases")
                .then_some(None)
        }
    }

    #[test]
    fn unregistered_resources_are_not_written() {
        let check = |verb: &str, group: &str, resource: &str, namespace: &str, user: &str, passes: bool| {
            let info = RequestInfo {
                is_resource: true,
                verb: verb.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                namespace: namespace.to_owned(),
                ..RequestInfo::default()
            };
            let groups = vec![GROUP_MASTERS.to_owned()];
            let user = UserInfo { name: user.to_owned(), groups, ..UserInfo::default() };
            let passed = check(&Jobs, &info, &user);
            assert_eq!(passed.is_ok(), passes, "{verb} {resource} {namespace} {passed:?}");
        };
        check("list", "batch", "jobs", "a", "u", true);
        check("create", "batch", "jobs", "a", "u", false);
        check("deletecollection", "batch", "jobs", "a", "u", false);
        check("create", "apps", "deployments", "a", "u", true);
        check("create", "", "namespaces", "", "u", false);
        check("create", "", "namespaces", "", APISERVER_USER, true);
        check("update", "", "namespaces", "", APISERVER_USER, false);
        check("update", "coordination.k8s.io", "leases", "kube-system", "u", true);
        check("update", "coordination.k8s.io", "leases", "a", "u", false);
    }

    #[test]
    fn pending_reason_is_in_error() {
        let verb = "create".to_owned();
        let group = "batch".to_owned();
        let resource = "jobs".to_owned();
        let info = RequestInfo { is_resource: true, verb, group, resource, ..RequestInfo::default() };
        let status = check(&Jobs, &info, &UserInfo::default()).err();
        let message = "wait for storage version registration to complete for resource: jobs.batch, last seen error: <nil>";
        assert_eq!(status.map(|status| (status.code, status.message)), Some((503, message.to_owned())));
    }
}
