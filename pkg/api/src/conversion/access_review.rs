//! SubjectAccessReviews and LocalSubjectAccessReviews: `authorization.k8s.io/v1`, and `v1beta1`, which has
//! another name for the groups.

use crate::tree::{child_mut, rename};
use schema::object::Object;

pub(super) fn to_hub(review: &mut Object) {
    if let Some(spec) = child_mut(review, "spec") {
        rename(spec, "group", "groups");
    }
}

pub(super) fn from_hub(review: &mut Object) {
    if let Some(spec) = child_mut(review, "spec") {
        rename(spec, "groups", "group");
    }
}
