//! The kind `CustomResourceDefinition`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::small;
use crate::validation::kinds::custom_resource;
use crate::warnings::custom;
use api::name_rule::NameRule;

pub(crate) static CUSTOM_RESOURCE_DEFINITION: Kind = Kind {
    names: NameRule::CustomResourceDefinition,
    qualified_finalizers: false,
    validation: Validation::Settings(custom_resource::RULES),
    warnings: WarningRules {
        create: |new, out| custom::definition(new, None, out),
        update: OnUpdate::Own(|new, old, out| custom::definition(new, Some(old), out)),
        ..WarningRules::NONE
    },
    strategy: &small::CustomResourceDefinitions,
    early_preconditions: true,
    ..Kind::PLAIN
};
