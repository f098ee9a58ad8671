//! The kinds of the API group `autoscaling`.

pub(crate) mod horizontal_pod_autoscaler;
