//! The complete server: served API groups, wiring, bootstrap objects, and its life cycle from configuration
//! to shutdown.

pub mod admission;
mod admission_config;
mod admission_manifests;
mod admission_policies;
mod admission_webhooks;
#[cfg(test)]
mod aggregation_tests;
pub mod api;
mod authentication_info;
mod authenticators;
mod authorizers;
pub mod config;
mod console;
mod encryption_at_rest;
mod error;
pub mod features;
mod flow_control;
pub mod forks;
#[cfg(test)]
mod hostile_storage_tests;
pub mod huge_pages;
mod identity;
mod image_reviews;
mod loopback;
mod memory;
mod metrics;
mod namespaces;
mod network;
mod node_graph;
mod object_counts;
mod objects;
mod process;
mod reloads;
mod replicas;
mod roles;
pub mod run;
#[cfg(test)]
mod snapshot_tests;
mod start_hooks;
mod startup_tasks;
#[cfg(test)]
mod subresource_tests;
mod system;
mod template;
#[cfg(test)]
mod test_client;
pub mod test_cluster;
#[cfg(test)]
mod test_https;
mod token_objects;
#[cfg(test)]
mod trace_tests;
