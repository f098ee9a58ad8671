//! Warnings about storage classes (`pkg/api/storage/util.go`).

use crate::warnings::collector::Warnings;
use crate::warnings::node;
use api::tree::{children, text};
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn class(class: &Object, out: &mut Warnings) {
    let path = Path::root("allowedTopologies");
    for (index, term) in children(class, "allowedTopologies").enumerate() {
        let path = path.index(index);
        let path = path.child("matchLabelExpressions");
        for (index, expression) in children(term, "matchLabelExpressions").enumerate() {
            if let Some(message) = node::old_label(text(expression, "key")) {
                out.add(format_args!("{}: {message}", path.index(index).child("key")));
            }
        }
    }
}
