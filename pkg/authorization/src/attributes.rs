//! What is asked of an authorizer.

use apimachinery::request_info::RequestInfo;
use apimachinery::selectors::Selectors;
use apimachinery::user_info::UserInfo;

/// Who wants to do what. Borrowed; authorizers never see a request's body
/// (upstream's `authorizer.Attributes`).
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a UserInfo,
    /// The verb for resources (`get`, `list`, `create`, …), the lower-case method for other paths.
    pub verb: &'a str,
    /// Whether it is about a resource. If not, only the verb and the path count.
    pub resource_request: bool,
    /// Namespace, empty for what is in none.
    pub namespace: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Plural resource.
    pub resource: &'a str,
    /// Subresource, empty for the object itself.
    pub subresource: &'a str,
    /// Name of the object, empty for all of them.
    pub name: &'a str,
    /// The path of a request.
    pub path: &'a str,
    /// To which objects of a collection it is limited (KEP-4601).
    pub selectors: &'a Selectors,
}

impl<'a> Attributes<'a> {
    /// A user who does not want anything yet: for questions that no request asks.
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

    /// A user's request.
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

    /// Whether nothing would be changed by it.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch")
    }
}
