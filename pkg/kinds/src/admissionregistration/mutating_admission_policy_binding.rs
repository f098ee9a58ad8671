//! The kind `MutatingAdmissionPolicyBinding`.

use crate::admissionregistration::{self, columns, defaults};
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::warnings;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: &[
        Version::with_defaults("admissionregistration.k8s.io/v1", defaults::binding),
        Version::with_defaults("admissionregistration.k8s.io/v1beta1", defaults::binding),
        Version::with_defaults("admissionregistration.k8s.io/v1alpha1", defaults::binding_v1alpha1),
    ],
    validation: Validation::Objects(admissionregistration::MUTATING_BINDINGS),
    warnings: WarningRules {
        create: warnings::common::new_manifest_kind,
        update: OnUpdate::Custom(|new, _, out| warnings::common::static_name(new, out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::POLICY_BINDING),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { from_manifests: true, ..RareProperties::NONE },
};
