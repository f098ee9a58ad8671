//! This product: which groups are served, wiring, bootstrap objects, and the life of a server from
//! its configuration to its end.

pub mod admission;
mod admission_config;
mod admission_manifests;
mod admission_policies;
mod admission_webhooks;
mod aggregation;
pub mod api;
mod api_services;
mod authentication_info;
mod authenticators;
mod authorizers;
mod bootstrap;
mod bootstrap_secrets;
mod collectors;
pub mod config;
mod console;
mod custom_kinds;
mod custom_resources;
mod desired;
mod encryption_at_rest;
mod endpoint_leases;
mod error;
pub mod features;
mod flow_control;
pub mod forks;
mod hook;
pub mod huge_pages;
mod identity_lease;
mod image_reviews;
mod kubernetes_service;
mod leader_election;
mod legacy_tokens;
mod loopback;
mod memory;
mod namespaces;
mod network;
mod node_graph;
mod object_counts;
mod objects;
mod peers;
mod process;
mod reloads;
mod replicas;
mod roles;
pub mod run;
mod service_addresses;
mod service_cidr;
mod services;
#[cfg(test)]
mod snapshot_tests;
mod start_hooks;
mod storage_versions;
#[cfg(test)]
mod subresource_tests;
mod system;
mod tasks;
mod template;
#[cfg(test)]
mod test_client;
pub mod test_cluster;
#[cfg(test)]
mod test_https;
mod token_objects;
#[cfg(test)]
mod trace_tests;
