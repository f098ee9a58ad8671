//! Defaults of namespaces.

use crate::defaults::fill::{default_struct, if_zero};
use crate::defaults::object::Object;
use jsontree::Value;

/// Label of every namespace with its name.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Labels a namespace with its name. A generated name is not known yet.
pub(super) fn namespace(namespace: &mut Object) {
    let label = ["metadata", "labels", NAMESPACE_NAME_LABEL];
    let name = namespace.text_at(&["metadata", "name"]);
    if !name.is_empty() && name != namespace.text_at(&label) {
        let name = Value::from(name);
        namespace.set_at(&label, name);
    }
    default_struct(namespace, "status", |status| if_zero(status, "phase", "Active"));
}
