//! The kind `ConfigMap`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::config;

pub(crate) static CONFIG_MAP: Kind =
    Kind { validation: Validation::Objects(config::CONFIG_MAPS), ..Kind::PLAIN };
