//! The name by which this server is known in its cluster.

use controllers::identity_lease::name;

use crate::system;

/// Returns the identity name of the server on this machine.
pub(crate) fn of_this_machine() -> String {
    name(&system::host_name())
}
