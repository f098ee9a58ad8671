//! The kind `HorizontalPodAutoscaler`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places::AUTOSCALER;
use crate::validation::kinds::autoscaler;

pub(crate) static HORIZONTAL_POD_AUTOSCALER: Kind =
    Kind { validation: Validation::Settings(autoscaler::RULES), gated: AUTOSCALER, ..Kind::PLAIN };
