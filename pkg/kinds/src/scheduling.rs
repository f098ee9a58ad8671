//! The kinds of the API group `scheduling`.

pub(crate) mod composite_pod_group;
pub(crate) mod gated;
pub(crate) mod groups;
pub(crate) mod pod_group;
pub(crate) mod priority_class;
pub(crate) mod workload;
