//! Control loops of the API server: bootstrap objects, leases of servers, the Service `kubernetes`, leader election, peers
//! and storage versions (upstream's `pkg/controlplane/controller`).

pub mod bootstrap;
pub mod bootstrap_secrets;
pub mod cidr;
pub mod dangling;
pub mod desired_state;
mod endpoint_leases;
mod error;
pub mod hook;
pub mod identity_lease;
pub mod kubernetes_service;
pub mod leader_election;
pub mod legacy_tokens;
pub mod loopback_client;
pub mod manager;
pub mod peers;
pub mod service_cidr;
pub mod services;
pub mod storage_versions;
pub mod tasks;
#[cfg(test)]
mod testing;

pub use error::Error;
