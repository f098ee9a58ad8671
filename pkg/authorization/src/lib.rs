//! `Authenticated` and attributes to [`Authorized`], or a refusal.

mod attributes;
mod authorizer;
mod mode;

pub use attributes::Attributes;
pub use authorizer::{
    AlwaysAllow, AlwaysDeny, Authorized, Authorizer, Decision, MastersOnly, Union, authorize, forbidden,
};
pub use mode::Mode;
