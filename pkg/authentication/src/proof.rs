//! Proof that a request was authenticated.

use apimachinery::user_info::{GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo};

/// A user that an [`Authenticator`](crate::Authenticator) accepted; possibly the anonymous one. No other code
/// can construct it, so a function with this parameter cannot run without authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    user: UserInfo,
}

impl Authenticated {
    pub(crate) fn new(user: UserInfo) -> Self {
        Authenticated { user }
    }

    pub fn user(&self) -> &UserInfo {
        &self.user
    }

    pub fn into_user(self) -> UserInfo {
        self.user
    }

    /// True if the user is anonymous.
    pub fn is_anonymous(&self) -> bool {
        self.user.name == USER_ANONYMOUS || self.user.in_group(GROUP_UNAUTHENTICATED)
    }
}
