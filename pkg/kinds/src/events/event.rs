//! The kind `Event`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::event;

pub(crate) static EVENT: Kind = Kind { validation: Validation::Objects(event::EVENTS), ..Kind::PLAIN };
