//! The kind `IPAddress`.

use crate::kind::{Kind, Validation};
use crate::networking;
use api::name_rule::NameRule;

pub(crate) static IP_ADDRESS: Kind = Kind {
    names: NameRule::Ip,
    validation: Validation::Objects(networking::service_range::IP_ADDRESSES),
    ..Kind::PLAIN
};
