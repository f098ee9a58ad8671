//! The kind `CSINode`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::storage;

pub(crate) static CSI_NODE: Kind =
    Kind { validation: Validation::Objects(storage::csi_node::RULES), ..Kind::PLAIN };
