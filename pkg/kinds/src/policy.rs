//! The kinds of the API group `policy`.

pub(crate) mod pod_disruption_budget;
