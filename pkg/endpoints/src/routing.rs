//! From a request to the handler of its verb: the interface to the chain, the route, and the generation that is served.

pub(crate) mod action;
pub mod dispatch;
pub mod path;
pub(crate) mod proxied;
pub(crate) mod route;
pub(crate) mod router;
pub mod served;
