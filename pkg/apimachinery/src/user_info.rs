//! Who asks.

use std::collections::BTreeMap;

/// The group of the cluster's unlimited administrators: authorization never refuses it.
pub const GROUP_MASTERS: &str = "system:masters";
/// The group of those who watch over the cluster's health.
pub const GROUP_MONITORING: &str = "system:monitoring";
/// The group of everyone who proved an identity.
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone who did not.
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a user without credentials.
pub const USER_ANONYMOUS: &str = "system:anonymous";

/// A user as authentication found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// Unique name.
    pub name: String,
    /// Unique id across time, may be empty.
    pub uid: String,
    /// Groups the user is in.
    pub groups: Vec<String>,
    /// Further facts that an authenticator attached.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// Whether the user is in `group`.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// The user of a request without credentials.
    pub fn anonymous() -> Self {
        UserInfo {
            name: USER_ANONYMOUS.to_owned(),
            groups: vec![GROUP_UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        }
    }
}
