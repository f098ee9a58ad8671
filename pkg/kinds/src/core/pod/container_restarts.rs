//! Facts about the restarts of a pod's containers.

use api::tree::{children, maybe_text, text};
use schema::object::Object;

/// True if an init container is a sidecar: it runs beside the regular containers (KEP-753).
pub(super) fn is_sidecar(container: &Object) -> bool {
    maybe_text(container, "restartPolicy") == Some("Always")
}

/// True if a restart rule of a container restarts all containers.
pub(super) fn can_restart_all(spec: &Object) -> bool {
    let containers = children(spec, "initContainers").chain(children(spec, "containers"));
    let mut rules = containers.flat_map(|container| children(container, "restartPolicyRules"));
    rules.any(|rule| text(rule, "action") == "RestartAllContainers")
}
