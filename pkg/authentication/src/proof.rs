//! The proof that a request was authenticated.

use apimachinery::user_info::{GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo};

/// A user whom an [`Authenticator`](crate::Authenticator) vouches for; possibly the anonymous one.
/// There is no other way to make one, so a function that takes it cannot be reached without a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    user: UserInfo,
}

impl Authenticated {
    pub(crate) fn new(user: UserInfo) -> Self {
        Authenticated { user }
    }

    /// Who asks.
    pub fn user(&self) -> &UserInfo {
        &self.user
    }

    /// Who asks, to be handed on.
    pub fn into_user(self) -> UserInfo {
        self.user
    }

    /// Whether nobody proved an identity.
    pub fn is_anonymous(&self) -> bool {
        self.user.name == USER_ANONYMOUS || self.user.in_group(GROUP_UNAUTHENTICATED)
    }
}
