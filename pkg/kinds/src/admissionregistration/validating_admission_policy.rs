//! The kind `ValidatingAdmissionPolicy`.

use crate::admissionregistration::columns::param_kind;
use crate::admissionregistration::{self, defaults};
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use crate::warnings;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: &[
        Version::with_defaults("admissionregistration.k8s.io/v1", defaults::policy),
        Version::with_defaults("admissionregistration.k8s.io/v1beta1", defaults::policy),
        Version::with_defaults("admissionregistration.k8s.io/v1alpha1", defaults::policy),
    ],
    validation: Validation::Settings(admissionregistration::VALIDATING_POLICIES),
    warnings: WarningRules {
        create: warnings::common::new_manifest_kind,
        update: OnUpdate::Custom(|new, _, out| warnings::common::static_name(new, out)),
        update_status: warnings::common::static_name,
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Validations", |object, _| object.get_path("spec.validations").count())
            .with_description(
                "Validations indicates the number of validation rules defined in this configuration",
            ),
        Column::text("ParamKind", |object, _| param_kind(object).into())
            .with_description("ParamKind specifies the kind of resources used to parameterize this policy"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { from_manifests: true, ..RareProperties::NONE },
};
