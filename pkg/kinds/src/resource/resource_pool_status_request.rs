//! The kind `ResourcePoolStatusRequest`.

use crate::kind::Kind;

pub(crate) static RESOURCE_POOL_STATUS_REQUEST: Kind = Kind::PLAIN;
