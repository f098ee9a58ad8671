//! The kind `ValidatingAdmissionPolicyBinding`.

use crate::admissionregistration::{self, columns, defaults};
use crate::kind::{Columns, Exceptions, Kind, OnUpdate, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::warnings;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: &[
        Version::with("admissionregistration.k8s.io/v1", defaults::binding),
        Version::with("admissionregistration.k8s.io/v1beta1", defaults::binding),
        Version::with("admissionregistration.k8s.io/v1alpha1", defaults::binding_v1alpha1),
    ],
    validation: Validation::Objects(admissionregistration::VALIDATING_BINDINGS),
    warnings: WarningRules {
        create: warnings::common::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::common::static_name(new, out)),
        ..WarningRules::NONE
    },
    columns: Columns::Own(columns::POLICY_BINDING),
    gated: &[],
    strategy: &Common,
    exceptions: Exceptions { from_manifests: true, ..Exceptions::NONE },
};
