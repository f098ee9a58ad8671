//! `Authenticated` and attributes to [`Authorized`], or a refusal.

mod abac;
mod attributes;
mod authorizer;
mod mode;
pub mod node;
pub mod rbac;
mod rules;

pub use abac::Policies;
pub use attributes::Attributes;
pub use authorizer::{
    AlwaysAllow, AlwaysDeny, Authorized, Authorizer, Decision, MastersOnly, Union, authorize, forbidden,
    require,
};
pub use mode::{Means, Mode};
pub use rules::{PathRule, ResourceRule, Rules};
