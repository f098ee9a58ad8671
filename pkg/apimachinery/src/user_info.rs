//! User of a request.

use std::collections::BTreeMap;

/// Group of cluster administrators; authorization always allows them.
pub const GROUP_MASTERS: &str = "system:masters";
/// Group of monitoring clients. Like administrators, they may set trace parents and sampling.
pub const GROUP_MONITORING: &str = "system:monitoring";
/// Group of all authenticated users.
pub const GROUP_AUTHENTICATED: &str = "system:authenticated";
/// Group of requests without credentials.
pub const GROUP_UNAUTHENTICATED: &str = "system:unauthenticated";
/// User name of requests without credentials.
pub const USER_ANONYMOUS: &str = "system:anonymous";

/// Authenticated user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// User name, as in RBAC subjects and audit events.
    pub name: String,
    /// Unique id, never reused; may be empty.
    pub uid: String,
    /// Group names, as in RBAC subjects.
    pub groups: Vec<String>,
    /// Further attributes from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// True if the user has this group.
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
