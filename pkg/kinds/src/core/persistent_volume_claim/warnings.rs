//! Warnings about persistent volume claims (`pkg/api/persistentvolumeclaim/util.go`).

use crate::warnings::claim::{claim_spec, old_class};
use crate::warnings::collector::Warnings;
use api::tree::child;
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn claim(claim: &Object, out: &mut Warnings) {
    old_class(claim, out);
    if let Some(spec) = child(claim, "spec") {
        claim_spec(&Path::root("spec"), spec, out);
    }
}
