//! The kind `PriorityLevelConfiguration`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::flow_control;

pub(crate) static PRIORITY_LEVEL_CONFIGURATION: Kind =
    Kind { validation: Validation::Objects(flow_control::priority_level::RULES), ..Kind::PLAIN };
