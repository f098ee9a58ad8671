//! The kind `ConfigMap`.

use crate::core::config;
use crate::kind::{Kind, Validation};

pub(crate) static CONFIG_MAP: Kind =
    Kind { validation: Validation::Objects(config::CONFIG_MAPS), ..Kind::PLAIN };
