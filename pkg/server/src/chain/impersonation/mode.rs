//! Impersonation modes with their authorization checks (apiserver `endpoints/filters/impersonation/mode.go`).

use std::collections::BTreeMap;

use apimachinery::field::{Error, Path, aggregate};
use apimachinery::names::{is_dns1123_subdomain, regex_error};
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::{
    GROUP_AUTHENTICATED, GROUP_MASTERS, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo,
};
use authorization::{Attributes, Authorizer, forbidden};
use tokio::time::Instant;

use crate::metrics::Impersonations;

use super::requested_user::{RequestedUser, Subject, service_account};

/// API group of the permissions to impersonate, except the older ones for users, groups and service accounts.
const GROUP: &str = "authentication.k8s.io";
/// From this number of groups or extra values, permission for all of them is checked first.
const BULK_CHECK_MIN: usize = 4;
/// Extra key for the node on which a service account's token is used.
const NODE_NAME_KEY: &str = "authentication.kubernetes.io/node-name";
/// Extra key that replaces all extras of the user in the associated-node mode.
const NODE_KEYS_KEY: &str = "authentication.kubernetes.io/associated-node-keys";

/// Upstream's pattern for the path of an extra key.
const PATH_REGEX: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const PATH_PUNCTUATION: &[u8] = b"/-._~%!$&'()*+,;=:";

/// Kind of permission to impersonate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A service account impersonates the node that its token is bound to.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    /// Any user that is neither a node nor a service account.
    UserInfo,
    /// Any user, for any request.
    Legacy,
}

/// Impersonation attempt of a request.
pub(super) struct ImpersonationRequest<'a> {
    pub(super) sender: &'a UserInfo,
    pub(super) requested: &'a RequestedUser,
    pub(super) info: &'a RequestInfo,
    pub(super) authorizer: &'a dyn Authorizer,
    /// Counters of authorization checks.
    pub(super) metrics: &'a Impersonations,
}

impl Mode {
    /// In the order of the checks.
    pub(crate) const ALL: [Mode; 5] =
        [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

    /// Returns the impersonated user; `None` if the mode does not apply.
    ///
    /// # Errors
    /// The denial of the first missing permission.
    pub(super) async fn check(
        self,
        attempt: &ImpersonationRequest<'_>,
    ) -> Result<Option<UserInfo>, Box<Status>> {
        if !self.applies(attempt) {
            return Ok(None);
        }
        let sender = self.sender(attempt.sender);
        let verb = self.name().map_or("impersonate".to_owned(), |mode| format!("impersonate:{mode}"));
        let ImpersonationRequest { authorizer, metrics, .. } = *attempt;
        let rights = PermissionChecks { mode: self, verb: &verb, sender: &sender, authorizer, metrics };
        if let Some(name) = self.name() {
            let verb = format!("impersonate-on:{name}:{}", attempt.info.verb);
            rights
                .authorize(Attributes { verb: &verb, ..Attributes::of_request(&sender, attempt.info) })
                .await?;
        }
        let requested = attempt.requested;
        rights.check_name(requested).await?;
        rights.check_uid(&requested.uid).await?;
        rights.check_groups(&requested.groups).await?;
        rights.check_extra(&requested.extra).await?;
        Ok(Some(UserInfo {
            name: requested.name.clone(),
            uid: requested.uid.clone(),
            groups: self.groups(requested),
            extra: requested.extra.clone(),
        }))
    }

    /// Verb of the permission; empty for the legacy mode.
    pub(super) fn constraint(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "impersonate:associated-node",
            Mode::ArbitraryNode => "impersonate:arbitrary-node",
            Mode::ServiceAccount => "impersonate:serviceaccount",
            Mode::UserInfo => "impersonate:user-info",
            Mode::Legacy => "",
        }
    }

    /// Name of the mode in metrics.
    pub(crate) fn label(self) -> &'static str {
        self.name().unwrap_or("legacy")
    }

    /// Selects the mode's element of an array in the order of [`Mode::ALL`].
    pub(crate) fn of<T>(self, all: &[T; 5]) -> &T {
        let [associated_node, arbitrary_node, service_account, user_info, legacy] = all;
        match self {
            Mode::AssociatedNode => associated_node,
            Mode::ArbitraryNode => arbitrary_node,
            Mode::ServiceAccount => service_account,
            Mode::UserInfo => user_info,
            Mode::Legacy => legacy,
        }
    }

    /// Name of the mode in verbs; `None` for the legacy mode.
    fn name(self) -> Option<&'static str> {
        match self {
            Mode::AssociatedNode => Some("associated-node"),
            Mode::ArbitraryNode => Some("arbitrary-node"),
            Mode::ServiceAccount => Some("serviceaccount"),
            Mode::UserInfo => Some("user-info"),
            Mode::Legacy => None,
        }
    }

    fn applies(self, attempt: &ImpersonationRequest<'_>) -> bool {
        let requested = attempt.requested;
        match (self, requested.subject()) {
            (Mode::AssociatedNode, Subject::Node(node)) => {
                requested.is_name_only() && is_on_node(attempt.sender, node)
            }
            (Mode::ArbitraryNode, Subject::Node(_)) => requested.is_name_only(),
            (Mode::ServiceAccount, Subject::ServiceAccount { .. }) => requested.is_name_only(),
            (Mode::UserInfo, Subject::Other) | (Mode::Legacy, _) => true,
            _ => false,
        }
    }

    /// Returns the user for the authorization check. In the associated-node mode the result must hold for
    /// every node, so the extras are replaced by their keys.
    fn sender(self, sender: &UserInfo) -> UserInfo {
        match self {
            Mode::AssociatedNode => {
                let keys = sender.extra.keys().cloned().collect();
                UserInfo { extra: BTreeMap::from([(NODE_KEYS_KEY.to_owned(), keys)]), ..sender.clone() }
            }
            _ => sender.clone(),
        }
    }

    /// Returns the groups of the impersonated user: fixed ones for nodes and service accounts, otherwise the
    /// requested ones. Always adds the group for authenticated or unauthenticated users.
    fn groups(self, requested: &RequestedUser) -> Vec<String> {
        let mut groups = match (requested.subject(), self) {
            (Subject::Node(_), mode) if mode != Mode::Legacy => vec!["system:nodes".to_owned()],
            (Subject::ServiceAccount { namespace, .. }, _) if requested.groups.is_empty() => {
                vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
            }
            _ => requested.groups.clone(),
        };
        let has = |group: &str| groups.iter().any(|existing| existing == group);
        let missing = if requested.name == USER_ANONYMOUS {
            (!has(GROUP_UNAUTHENTICATED)).then_some(GROUP_UNAUTHENTICATED)
        } else {
            (!has(GROUP_UNAUTHENTICATED) && !has(GROUP_AUTHENTICATED)).then_some(GROUP_AUTHENTICATED)
        };
        groups.extend(missing.map(str::to_owned));
        groups
    }
}

/// True if the user is a service account whose token is bound to `node`.
fn is_on_node(sender: &UserInfo, node: &str) -> bool {
    let bound = sender.extra.get(NODE_NAME_KEY).map(Vec::as_slice);
    service_account(&sender.name).is_some() && matches!(bound, Some([only]) if only == node)
}

/// Checks the permissions of one mode.
struct PermissionChecks<'a> {
    mode: Mode,
    verb: &'a str,
    sender: &'a UserInfo,
    authorizer: &'a dyn Authorizer,
    metrics: &'a Impersonations,
}

impl<'a> PermissionChecks<'a> {
    async fn authorize(&self, attributes: Attributes<'_>) -> Result<(), Box<Status>> {
        let start = Instant::now();
        let outcome = self.authorizer.decide(attributes).await.outcome();
        self.metrics.check(self.mode, outcome.is_ok(), start.elapsed());
        let denial = match outcome {
            Ok(_) => return Ok(()),
            Err(denial) => denial,
        };
        // The legacy mode does not return the authorizer's error.
        let reason = if self.is_constrained() { denial.message() } else { denial.reason };
        Err(self.deny(attributes, &reason))
    }

    /// Denial without an authorization check.
    fn deny(&self, attributes: Attributes<'_>, reason: &str) -> Box<Status> {
        Box::new(forbidden(attributes, reason))
    }

    fn is_constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// Permission to impersonate one name of a resource.
    fn permission<'r>(&self, resource: &'r str, name: &'r str) -> Attributes<'r>
    where
        'a: 'r,
    {
        let core = !self.is_constrained() && ["users", "groups", "serviceaccounts"].contains(&resource);
        Attributes {
            verb: self.verb,
            resource_request: true,
            group: if core { "" } else { GROUP },
            version: "v1",
            resource,
            name,
            ..Attributes::of_user(self.sender)
        }
    }

    async fn check_name(&self, requested: &RequestedUser) -> Result<(), Box<Status>> {
        let permission = match requested.subject() {
            Subject::Node(_) if self.mode == Mode::AssociatedNode => self.permission("nodes", "*"),
            Subject::Node(name) if self.is_constrained() => self.permission("nodes", name),
            Subject::ServiceAccount { namespace, name } => {
                Attributes { namespace, ..self.permission("serviceaccounts", name) }
            }
            _ => self.permission("users", &requested.name),
        };
        self.authorize(permission).await
    }

    async fn check_uid(&self, uid: &str) -> Result<(), Box<Status>> {
        if uid.is_empty() { Ok(()) } else { self.authorize(self.permission("uids", uid)).await }
    }

    async fn check_groups(&self, groups: &[String]) -> Result<(), Box<Status>> {
        if self.is_constrained() {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(self.deny(self.permission("groups", ""), reason));
            }
            if groups.iter().any(|group| group == GROUP_MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(self.deny(self.permission("groups", GROUP_MASTERS), reason));
            }
            if groups.len() >= BULK_CHECK_MIN && self.authorize(self.permission("groups", "*")).await.is_ok()
            {
                return Ok(());
            }
        }
        for group in groups {
            self.authorize(self.permission("groups", group)).await?;
        }
        Ok(())
    }

    /// Permission to impersonate one value of an extra.
    fn extra<'r>(&self, key: &'r str, value: &'r str) -> Attributes<'r>
    where
        'a: 'r,
    {
        Attributes { subresource: key, ..self.permission("userextras", value) }
    }

    async fn check_extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Box<Status>> {
        if self.is_constrained() {
            if let Some(reason) = extra.iter().find_map(|(key, values)| extra_error(key, values)) {
                return Err(self.deny(self.extra("", ""), &reason));
            }
            let many = extra.values().map(Vec::len).sum::<usize>() >= BULK_CHECK_MIN;
            if many && self.authorize(self.extra("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.authorize(self.extra(key, value)).await?;
            }
        }
        Ok(())
    }
}

/// Validates an extra in the constrained modes.
fn extra_error(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    if let Some(error) = key_error(key) {
        return Some(format!("impersonating an invalid key in extra is not allowed: {error}"));
    }
    if key.to_lowercase() != key {
        let key = apimachinery::go_quote::quote(key);
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key}"));
    }
    let empty = values.iter().any(String::is_empty);
    empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// Validates an extra key, which is a domain with a path, such as `acme.io/foo`.
fn key_error(key: &str) -> Option<String> {
    let root = Path::root("extra");
    let path = root.child("key");
    let Some((host, rest)) = key.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return aggregate(&[Error::invalid(&path, key, detail)]);
    };
    let mut errors: Vec<Error> =
        is_dns1123_subdomain(host).into_iter().map(|detail| Error::invalid(&path, host, detail)).collect();
    if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || PATH_PUNCTUATION.contains(&byte)) {
        errors.push(Error::invalid(&path, rest, regex_error("Invalid path", PATH_REGEX, &[])));
    }
    aggregate(&errors)
}
