//! Warnings about stateful sets.

use crate::warnings::claim::claim_spec;
use crate::warnings::collector::Warnings;
use crate::warnings::template::template;
use api::tree::{child, children};
use apimachinery::field::Path;
use schema::object::{Object, get_i64};

/// Warns about a created `StatefulSet`.
pub(super) fn create(object: &Object, out: &mut Warnings) {
    template(object, out);
    claim_templates(object, false, out);
    revision_history(object, out);
}

/// Warns about a replaced `StatefulSet`; `changed` is true if its spec has changed.
pub(super) fn update(object: &Object, changed: bool, out: &mut Warnings) {
    if changed {
        template(object, out);
    }
    claim_templates(object, true, out);
    revision_history(object, out);
}

/// The paths are upstream's: without the claim's `spec` on creation, with a misspelled one on update.
fn claim_templates(object: &Object, update: bool, out: &mut Warnings) {
    let Some(spec) = child(object, "spec") else { return };
    let path = Path::root("spec.volumeClaimTemplates");
    for (index, claim) in children(spec, "volumeClaimTemplates").enumerate() {
        let Some(claim) = child(claim, "spec") else { continue };
        let path = path.index(index);
        let path = if update { path.child("Spec") } else { path };
        claim_spec(&path, claim, out);
    }
}

fn revision_history(object: &Object, out: &mut Warnings) {
    if get_i64(object, &["spec", "revisionHistoryLimit"]).is_some_and(|limit| limit < 0) {
        out.add(format_args!(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
             recommended"
        ));
    }
}
