//! The kind `MutatingAdmissionPolicyBinding`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::{admissionregistration, warnings};

pub(crate) static MUTATING_ADMISSION_POLICY_BINDING: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Objects(admissionregistration::MUTATING_BINDINGS),
    warnings: WarningRules {
        create: warnings::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::static_name(new, out)),
        ..WarningRules::NONE
    },
    from_manifests: true,
    ..Kind::PLAIN
};
