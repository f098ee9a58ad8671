//! The kind `Binding`.

use crate::kind::Kind;

pub(crate) static BINDING: Kind = Kind::PLAIN;
