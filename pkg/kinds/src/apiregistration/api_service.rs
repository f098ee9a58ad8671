//! The kind `APIService`.

use crate::kind::{Kind, Validation};
use crate::strategy::small;
use crate::validation::kinds::api_service;
use api::name_rule::NameRule;

pub(crate) static API_SERVICE: Kind = Kind {
    names: NameRule::ApiService,
    qualified_finalizers: false,
    validation: Validation::Objects(api_service::RULES),
    strategy: &small::ApiServices,
    ..Kind::PLAIN
};
