//! The kinds of admissionregistration.k8s.io. Their expressions are compiled in the environments that they run in.

mod binding;
mod client;
mod match_condition;
mod policy;
mod policy_expressions;
mod rule;
mod webhook;

pub(super) use binding::{MUTATING_BINDINGS, VALIDATING_BINDINGS};
pub(super) use client::{client_config, is_url_with_host};
pub(super) use policy::{MUTATING_POLICIES, VALIDATING_POLICIES};
pub(super) use webhook::{MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS};

const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
