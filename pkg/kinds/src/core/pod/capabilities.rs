//! Capabilities of containers.

use api::tree::{child, maybe_flag, texts};
use schema::object::Object;

/// Iterates over the additional capabilities that are `CAP_SYS_ADMIN`.
pub(super) fn sys_admin(context: &Object) -> impl Iterator<Item = &str> {
    let capabilities = child(context, "capabilities").into_iter().flat_map(|c| texts(c, "add"));
    capabilities.filter(|capability| *capability == "CAP_SYS_ADMIN")
}

/// True if a container gets `CAP_SYS_ADMIN`, although its privileges may not be escalated. As in upstream, an unset
/// `allowPrivilegeEscalation` counts as false.
pub(super) fn has_sys_admin_without_escalation(container: &Object) -> bool {
    let Some(context) = child(container, "securityContext") else { return false };
    maybe_flag(context, "allowPrivilegeEscalation") != Some(true) && sys_admin(context).next().is_some()
}
