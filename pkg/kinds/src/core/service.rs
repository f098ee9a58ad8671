//! The kind `Service`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::strategy;
use crate::validation::kinds::service;
use crate::warnings::networking;
use api::name_rule::NameRule;

pub(crate) static SERVICE: Kind = Kind {
    names: NameRule::DnsLabel,
    validation: Validation::Settings(service::RULES),
    warnings: WarningRules {
        create: networking::service,
        update_status: networking::load_balancer_status,
        ..WarningRules::NONE
    },
    strategy: &strategy::service::Services,
    ..Kind::PLAIN
};
