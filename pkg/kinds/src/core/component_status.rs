//! The kind `ComponentStatus`.

use crate::kind::Kind;

pub(crate) static COMPONENT_STATUS: Kind = Kind::PLAIN;
