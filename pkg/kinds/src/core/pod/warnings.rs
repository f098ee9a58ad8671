//! Warnings about pods.

use crate::warnings::addresses::addresses_of;
use crate::warnings::collector::Warnings;
use crate::warnings::pod;
use crate::warnings::template::label_name;
use api::tree::child;
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn pod_status(pod: &Object, out: &mut Warnings) {
    let Some(status) = child(pod, "status") else { return };
    let path = Path::root("status");
    for member in ["podIPs", "hostIPs"] {
        let path = path.child(member);
        addresses_of(&path, status, member, out);
    }
}

/// Warns about a created `Pod`.
pub(super) fn new_pod(object: &Object, out: &mut Warnings) {
    label_name(object, "the Pod's hostname", out);
    pod::pod(object, out);
}
