//! User of a request.

use std::collections::BTreeMap;

/// Group of cluster administrators; authorization always allows them.
pub const GROUP_MASTERS: &str = "system:masters";
pub const GROUP_MONITORING: &str = "system:monitoring";
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// User name of requests without credentials.
pub const USER_ANONYMOUS: &str = "system:anonymous";

/// Authenticated user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo {
    pub name: String,
    /// Unique id, never reused; may be empty.
    pub uid: String,
    pub groups: Vec<String>,
    /// Further attributes from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Returns the user of a request without credentials.
    pub fn anonymous() -> Self {
        UserInfo {
            name: USER_ANONYMOUS.to_owned(),
            groups: vec![GROUP_UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        }
    }
}
