//! The modes of impersonation, and what each asks the authorizer
//! (apiserver `endpoints/filters/impersonation/mode.go`).

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

/// The API group of rights to impersonate, except for users, groups and accounts in the old way.
const GROUP: &str = "authentication.k8s.io";
/// From how many groups or extra values on a right to all of them is asked for first.
const MANY: usize = 4;
/// The extra key that names the node on which a service account's token is used.
const NODE_NAME_KEY: &str = "authentication.kubernetes.io/node-name";
/// The extra key that stands for all of a sender's in the associated-node mode.
const NODE_KEYS_KEY: &str = "authentication.kubernetes.io/associated-node-keys";

/// What upstream allows in the path of an extra key.
const PATH_REGEX: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const PATH_MARKS: &[u8] = b"/-._~%!$&'()*+,;=:";

/// A kind of right to impersonate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A service account as the node that its token is bound to.
    AssociatedNode,
    /// Any node.
    ArbitraryNode,
    /// A service account.
    ServiceAccount,
    /// Everyone who is neither.
    UserInfo,
    /// Anyone, for any request.
    Legacy,
}

/// Somebody wants to be somebody else for a request.
pub(super) struct ImpersonationRequest<'a> {
    pub(super) sender: &'a UserInfo,
    pub(super) wanted: &'a RequestedUser,
    pub(super) info: &'a RequestInfo,
    pub(super) authorizer: &'a dyn Authorizer,
    /// Where questions are counted.
    pub(super) figures: &'a Impersonations,
}

impl Mode {
    /// In the order in which they are tried.
    pub(crate) const ALL: [Mode; 5] =
        [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

    /// The user that the sender may be; `None` where the mode does not apply.
    ///
    /// # Errors
    /// The refusal of the first right that is missing.
    pub(super) async fn check(
        self,
        attempt: &ImpersonationRequest<'_>,
    ) -> Result<Option<UserInfo>, Box<Status>> {
        if !self.applies(attempt) {
            return Ok(None);
        }
        let sender = self.sender(attempt.sender);
        let verb = self.name().map_or("impersonate".to_owned(), |mode| format!("impersonate:{mode}"));
        let ImpersonationRequest { authorizer, figures, .. } = *attempt;
        let rights = PermissionChecks { mode: self, verb: &verb, sender: &sender, authorizer, figures };
        if let Some(name) = self.name() {
            let verb = format!("impersonate-on:{name}:{}", attempt.info.verb);
            rights.ask(Attributes { verb: &verb, ..Attributes::of_request(&sender, attempt.info) }).await?;
        }
        let wanted = attempt.wanted;
        rights.to_name(wanted).await?;
        rights.to_uid(&wanted.uid).await?;
        rights.to_groups(&wanted.groups).await?;
        rights.to_extra(&wanted.extra).await?;
        Ok(Some(UserInfo {
            name: wanted.name.clone(),
            uid: wanted.uid.clone(),
            groups: self.groups(wanted),
            extra: wanted.extra.clone(),
        }))
    }

    /// The verb of the right that it is; empty for the oldest.
    pub(super) fn constraint(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "impersonate:associated-node",
            Mode::ArbitraryNode => "impersonate:arbitrary-node",
            Mode::ServiceAccount => "impersonate:serviceaccount",
            Mode::UserInfo => "impersonate:user-info",
            Mode::Legacy => "",
        }
    }

    /// The name of the mode in metrics.
    pub(crate) fn label(self) -> &'static str {
        self.name().unwrap_or("legacy")
    }

    /// What of an array in the order of [`Mode::ALL`] belongs to the mode.
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

    /// The name of the mode in verbs; the oldest has none.
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
        let wanted = attempt.wanted;
        match (self, wanted.subject()) {
            (Mode::AssociatedNode, Subject::Node(node)) => {
                wanted.is_name_only() && is_on_node(attempt.sender, node)
            }
            (Mode::ArbitraryNode, Subject::Node(_)) => wanted.is_name_only(),
            (Mode::ServiceAccount, Subject::ServiceAccount { .. }) => wanted.is_name_only(),
            (Mode::UserInfo, Subject::Other) | (Mode::Legacy, _) => true,
            _ => false,
        }
    }

    /// The sender as the authorizer sees it. In the associated-node mode the answer must hold for every
    /// node, so the sender's extras are replaced by their keys.
    fn sender(self, sender: &UserInfo) -> UserInfo {
        match self {
            Mode::AssociatedNode => {
                let keys = sender.extra.keys().cloned().collect();
                UserInfo { extra: BTreeMap::from([(NODE_KEYS_KEY.to_owned(), keys)]), ..sender.clone() }
            }
            _ => sender.clone(),
        }
    }

    /// The groups of the user that the sender becomes: fixed ones of nodes and service accounts, else
    /// those asked for, and in any case whether an identity was proved.
    fn groups(self, wanted: &RequestedUser) -> Vec<String> {
        let mut groups = match (wanted.subject(), self) {
            (Subject::Node(_), mode) if mode != Mode::Legacy => vec!["system:nodes".to_owned()],
            (Subject::ServiceAccount { namespace, .. }, _) if wanted.groups.is_empty() => {
                vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
            }
            _ => wanted.groups.clone(),
        };
        let has = |group: &str| groups.iter().any(|other| other == group);
        let missing = if wanted.name == USER_ANONYMOUS {
            (!has(GROUP_UNAUTHENTICATED)).then_some(GROUP_UNAUTHENTICATED)
        } else {
            (!has(GROUP_UNAUTHENTICATED) && !has(GROUP_AUTHENTICATED)).then_some(GROUP_AUTHENTICATED)
        };
        groups.extend(missing.map(str::to_owned));
        groups
    }
}

/// Whether a sender is a service account whose token is bound to `node`.
fn is_on_node(sender: &UserInfo, node: &str) -> bool {
    let bound = sender.extra.get(NODE_NAME_KEY).map(Vec::as_slice);
    service_account(&sender.name).is_some() && matches!(bound, Some([only]) if only == node)
}

/// Asks for the rights of one mode.
struct PermissionChecks<'a> {
    mode: Mode,
    /// What rights to be something are called.
    verb: &'a str,
    sender: &'a UserInfo,
    authorizer: &'a dyn Authorizer,
    figures: &'a Impersonations,
}

impl<'a> PermissionChecks<'a> {
    async fn ask(&self, wanted: Attributes<'_>) -> Result<(), Box<Status>> {
        let began = Instant::now();
        let outcome = self.authorizer.decide(wanted).await.outcome();
        self.figures.check(self.mode, outcome.is_ok(), began.elapsed());
        let refused = match outcome {
            Ok(_) => return Ok(()),
            Err(refused) => refused,
        };
        // The older way keeps what went wrong to itself.
        let why = if self.is_constrained() { refused.explained() } else { refused.reason };
        Err(self.refuse(wanted, &why))
    }

    /// A refusal that no authorizer is needed for.
    fn refuse(&self, wanted: Attributes<'_>, reason: &str) -> Box<Status> {
        Box::new(forbidden(wanted, reason))
    }

    fn is_constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// The right to be one thing of a kind.
    fn right<'r>(&self, resource: &'r str, name: &'r str) -> Attributes<'r>
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

    async fn to_name(&self, wanted: &RequestedUser) -> Result<(), Box<Status>> {
        let right = match wanted.subject() {
            Subject::Node(_) if self.mode == Mode::AssociatedNode => self.right("nodes", "*"),
            Subject::Node(name) if self.is_constrained() => self.right("nodes", name),
            Subject::ServiceAccount { namespace, name } => {
                Attributes { namespace, ..self.right("serviceaccounts", name) }
            }
            _ => self.right("users", &wanted.name),
        };
        self.ask(right).await
    }

    async fn to_uid(&self, uid: &str) -> Result<(), Box<Status>> {
        if uid.is_empty() { Ok(()) } else { self.ask(self.right("uids", uid)).await }
    }

    async fn to_groups(&self, groups: &[String]) -> Result<(), Box<Status>> {
        if self.is_constrained() {
            if groups.iter().any(String::is_empty) {
                let reason = "impersonating the empty string group is not allowed";
                return Err(self.refuse(self.right("groups", ""), reason));
            }
            if groups.iter().any(|group| group == GROUP_MASTERS) {
                let reason = "impersonating the system:masters group is not allowed";
                return Err(self.refuse(self.right("groups", GROUP_MASTERS), reason));
            }
            if groups.len() >= MANY && self.ask(self.right("groups", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.ask(self.right("groups", group)).await?;
        }
        Ok(())
    }

    /// The right to have one value of an extra.
    fn extra<'r>(&self, key: &'r str, value: &'r str) -> Attributes<'r>
    where
        'a: 'r,
    {
        Attributes { subresource: key, ..self.right("userextras", value) }
    }

    async fn to_extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Box<Status>> {
        if self.is_constrained() {
            if let Some(reason) = extra.iter().find_map(|(key, values)| extra_error(key, values)) {
                return Err(self.refuse(self.extra("", ""), &reason));
            }
            let many = extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.ask(self.extra("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask(self.extra(key, value)).await?;
            }
        }
        Ok(())
    }
}

/// What is wrong with an extra where it is constrained.
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

/// Extra keys are paths of a domain, such as `acme.io/foo`.
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
    if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || PATH_MARKS.contains(&byte)) {
        errors.push(Error::invalid(&path, rest, regex_error("Invalid path", PATH_REGEX, &[])));
    }
    aggregate(&errors)
}
