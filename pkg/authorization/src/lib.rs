//! Authorizes requests: an authenticated user and attributes in, [`Authorized`] or a denial out.

mod abac;
mod attributes;
mod authorizer;
pub mod config;
mod error;
mod metrics;
mod mode;
pub mod node;
pub mod rbac;
mod reload;
mod rules;
pub mod webhook;

pub use abac::Policies;
pub use attributes::Attributes;
pub use authorizer::{
    AllReads, AlwaysAllow, AlwaysDeny, Authorized, Authorizer, AuthorizerError, Decision, Denial, LoadFuture,
    MastersOnly, Member, Unauthorized, Union, authorize, authorize_all_reads, forbidden, require,
};
pub use error::Error;
pub use metrics::{AuthorizerMetrics, Series};
pub use mode::{AuthorizerDeps, Connect, Mode};
pub use reload::{Reload, Reloadable};
pub use rules::{PathRule, ResourceRule, Rules};
