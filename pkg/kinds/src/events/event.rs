//! The kind `Event`.

use crate::events::rules;
use crate::kind::{Kind, Validation};

pub(crate) static EVENT: Kind = Kind { validation: Validation::Objects(rules::EVENTS), ..Kind::PLAIN };
