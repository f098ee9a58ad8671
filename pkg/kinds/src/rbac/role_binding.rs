//! The kind `RoleBinding`.

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::rbac::{columns, defaults, rules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::FinishedPathSegment,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("rbac.authorization.k8s.io/v1", defaults::binding),
        Version::with_defaults("rbac.authorization.k8s.io/v1beta1", defaults::binding),
        Version::with_defaults("rbac.authorization.k8s.io/v1alpha1", defaults::binding_v1alpha1),
    ],
    validation: Validation::Objects(rules::ROLE_BINDINGS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::ROLE_BINDING),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
