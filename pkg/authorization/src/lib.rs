//! `Authenticated` and attributes to [`Authorized`], or a refusal.

mod attributes;
mod authorizer;
mod mode;
pub mod rbac;
mod rules;

pub use attributes::Attributes;
pub use authorizer::{
    AlwaysAllow, AlwaysDeny, Authorized, Authorizer, Decision, MastersOnly, Union, authorize, forbidden,
    require,
};
pub use mode::Mode;
pub use rules::{PathRule, ResourceRule, Rules};
