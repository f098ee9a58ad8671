//! The kind `PodGroup`.

use crate::kind::{Kind, Validation};
use crate::strategy::gated::places;
use crate::strategy::small;
use crate::validation::kinds::pod_group;

pub(crate) static POD_GROUP: Kind = Kind {
    validation: Validation::Objects(pod_group::GROUPS),
    strategy: &small::PodGroups,
    gated: places::POD_GROUP,
    resets: &[("", &[".status"])],
    ..Kind::PLAIN
};
