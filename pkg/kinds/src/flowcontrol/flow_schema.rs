//! The kind `FlowSchema`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::flow_control;

pub(crate) static FLOW_SCHEMA: Kind =
    Kind { validation: Validation::Objects(flow_control::flow_schema::RULES), ..Kind::PLAIN };
