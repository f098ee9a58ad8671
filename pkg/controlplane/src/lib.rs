//! This product: which groups are served, wiring, bootstrap objects, and the life of a server from
//! its configuration to its end.

pub mod api;
mod bootstrap;
pub mod config;
mod network;
mod object_counts;
mod objects;
pub mod run;
mod services;
#[cfg(test)]
mod subresource_tests;
mod system;
pub mod test_cluster;
mod token_objects;
