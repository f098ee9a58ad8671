//! Attributes of an authorization check.

use apimachinery::request_info::RequestInfo;
use apimachinery::selectors::Selectors;
use apimachinery::user_info::UserInfo;

/// User, verb and object of a check. Borrowed. Authorizers never see the body of a request (upstream's
/// `authorizer.Attributes`).
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    pub user: &'a UserInfo,
    /// The verb for resources (`get`, `list`, `create`, …), or the lower-case method for other paths.
    pub verb: &'a str,
    /// True for resources. Otherwise only the verb and the path count.
    pub resource_request: bool,
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    /// Subresource, empty for the object itself.
    pub subresource: &'a str,
    /// Name of the object, empty for all of them.
    pub name: &'a str,
    pub path: &'a str,
    /// Label and field selectors of the request (KEP-4601).
    pub selectors: &'a Selectors,
}

impl<'a> Attributes<'a> {
    /// Creates attributes with only a user, for checks without a request.
    pub fn of_user(user: &'a UserInfo) -> Self {
        Attributes {
            user,
            verb: "",
            resource_request: false,
            namespace: "",
            group: "",
            version: "",
            resource: "",
            subresource: "",
            name: "",
            path: "",
            selectors: const { &Selectors::NONE },
        }
    }

    /// Creates the attributes of a request.
    pub fn of_request(user: &'a UserInfo, info: &'a RequestInfo) -> Self {
        Attributes {
            user,
            verb: &info.verb,
            resource_request: info.is_resource,
            namespace: &info.namespace,
            group: &info.group,
            version: &info.version,
            resource: &info.resource,
            subresource: &info.subresource,
            name: &info.name,
            path: &info.path,
            selectors: &info.selectors,
        }
    }

    /// True for the verbs `get`, `list` and `watch`.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch")
    }
}
