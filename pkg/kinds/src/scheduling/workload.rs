//! The kind `Workload`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::validation::kinds::pod_group;

pub(crate) static WORKLOAD: Kind =
    Kind { validation: Validation::Objects(pod_group::WORKLOADS), gated: places::WORKLOAD, ..Kind::PLAIN };
