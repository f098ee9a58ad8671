//! The name by which this server is known in its cluster.

use controllers::identity_lease::name;

use crate::system;

/// The name by which the server on this machine is known.
pub(crate) fn of_this_machine() -> String {
    name(&system::host_name())
}
