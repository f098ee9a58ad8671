//! The kind `LimitRange`.

use crate::kind::{Kind, Validation};
use crate::strategy::small;
use crate::validation::kinds::limit_range;

pub(crate) static LIMIT_RANGE: Kind = Kind {
    validation: Validation::Objects(limit_range::RULES),
    strategy: &small::LimitRanges,
    ..Kind::PLAIN
};
