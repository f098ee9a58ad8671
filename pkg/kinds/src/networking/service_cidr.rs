//! The kind `ServiceCIDR`.

use crate::kind::{Kind, Validation};
use crate::networking;

pub(crate) static SERVICE_CIDR: Kind =
    Kind { validation: Validation::Objects(networking::service_range::SERVICE_CIDRS), ..Kind::PLAIN };
