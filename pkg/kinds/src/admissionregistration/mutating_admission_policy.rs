//! The kind `MutatingAdmissionPolicy`.

use crate::admissionregistration::columns::param_kind;
use crate::admissionregistration::{self, defaults};
use crate::kind::{Columns, Exceptions, Kind, OnUpdate, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use crate::warnings;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: &[
        Version::with("admissionregistration.k8s.io/v1", defaults::policy),
        Version::with("admissionregistration.k8s.io/v1beta1", defaults::policy),
        Version::with("admissionregistration.k8s.io/v1alpha1", defaults::policy),
    ],
    validation: Validation::Settings(admissionregistration::MUTATING_POLICIES),
    warnings: WarningRules {
        create: warnings::common::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::common::static_name(new, out)),
        ..WarningRules::NONE
    },
    columns: Columns::Own(&[
        NAME,
        Column::integer("Mutations", |object, _| object.at("spec.mutations").count())
            .described("Mutation indicates the number of mutations rules defined in this configuration"),
        Column::text("ParamKind", |object, _| param_kind(object).into())
            .described("ParamKind specifies the kind of resources used to parameterize this policy"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    exceptions: Exceptions { from_manifests: true, ..Exceptions::NONE },
};
