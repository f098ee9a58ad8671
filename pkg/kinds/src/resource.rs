//! The kinds of the API group `resource`.

pub(crate) mod defaults;
pub(crate) mod device;
pub(crate) mod device_class;
pub(crate) mod device_taint_rule;
pub(crate) mod gated;
pub(crate) mod resource_claim;
pub(crate) mod resource_claim_template;
pub(crate) mod resource_pool_status_request;
pub(crate) mod resource_slice;
