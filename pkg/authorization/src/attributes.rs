//! What is asked of an authorizer.

use apimachinery::request_info::RequestInfo;
use apimachinery::user_info::UserInfo;

/// Who wants to do what. Borrowed from the request; authorizers never see its body.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a UserInfo,
    /// What for.
    pub info: &'a RequestInfo,
}
