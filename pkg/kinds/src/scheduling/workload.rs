//! The kind `Workload`.

use crate::kind::{Kind, Validation};
use crate::scheduling::groups;
use crate::strategy::gated::places;

pub(crate) static WORKLOAD: Kind =
    Kind { validation: Validation::Objects(groups::WORKLOADS), gated: places::WORKLOAD, ..Kind::PLAIN };
