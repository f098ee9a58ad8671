//! Warnings about persistent volume claims and their templates.

use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use crate::warnings::containers::fractions;
use api::tree::child;
use apimachinery::field::Path;
use schema::object::Object;

const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) fn old_class(object: &Object, out: &mut Warnings) {
    if annotation(object, OLD_CLASS).is_some() {
        out.add(format_args!(
            "metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
}

/// Warns about fractional byte quantities in the spec of a claim.
pub(crate) fn claim_spec(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let Some(resources) = child(spec, "resources") else { return };
    let path = path.child("resources");
    for list in ["requests", "limits"] {
        fractions(&path.child(list), child(resources, list), &["storage"], out);
    }
}
