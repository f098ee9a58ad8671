//! Warnings about nodes (`pkg/api/node/util.go`).

use crate::warnings::collector::Warnings;
use crate::warnings::ip;
use api::tree::{child, text, texts};
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn node(node: &Object, out: &mut Warnings) {
    let Some(spec) = child(node, "spec") else { return };
    if child(spec, "configSource").is_some() {
        out.add(format_args!("spec.configSource: the feature is removed"));
    }
    if !text(spec, "externalID").is_empty() {
        out.add(format_args!("spec.externalID: this field is deprecated, and is unused by Kubernetes"));
    }
    let path = Path::root("spec.podCIDRs");
    for (index, range) in texts(spec, "podCIDRs").enumerate() {
        ip::range(&path.index(index), range, out);
    }
}
