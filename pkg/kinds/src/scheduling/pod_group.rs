//! The kind `PodGroup`.

use crate::kind::{Kind, Validation};
use crate::scheduling::groups;
use crate::strategy::gated::places;
use crate::strategy::small;

pub(crate) static POD_GROUP: Kind = Kind {
    validation: Validation::Objects(groups::GROUPS),
    strategy: &small::PodGroups,
    gated: places::POD_GROUP,
    resets: &[("", &[".status"])],
    ..Kind::PLAIN
};
