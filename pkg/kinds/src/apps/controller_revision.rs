//! The kind `ControllerRevision`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::controller_revision;

pub(crate) static CONTROLLER_REVISION: Kind =
    Kind { validation: Validation::Objects(controller_revision::RULES), ..Kind::PLAIN };
