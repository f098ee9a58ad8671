//! The kind `IngressClass`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::networking;

pub(crate) static INGRESS_CLASS: Kind =
    Kind { validation: Validation::Objects(networking::ingress_class::RULES), ..Kind::PLAIN };
