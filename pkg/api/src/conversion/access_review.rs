//! SubjectAccessReviews and LocalSubjectAccessReviews: `authorization.k8s.io/v1`, and `v1beta1`, which has
//! another name for the groups.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{child_mut, rename};
use schema::object::Object;

pub(super) static CLUSTER: Conversion =
    Conversion { spokes: &[Spoke::of("authorization.k8s.io/v1beta1", to_hub, from_hub)], ..NONE };

pub(super) static LOCAL: Conversion =
    Conversion { spokes: &[Spoke::of("authorization.k8s.io/v1beta1", to_hub, from_hub)], ..NONE };

fn to_hub(review: &mut Object) {
    if let Some(spec) = child_mut(review, "spec") {
        rename(spec, "group", "groups");
    }
}

fn from_hub(review: &mut Object) {
    if let Some(spec) = child_mut(review, "spec") {
        rename(spec, "groups", "group");
    }
}
