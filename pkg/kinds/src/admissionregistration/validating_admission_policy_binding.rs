//! The kind `ValidatingAdmissionPolicyBinding`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::{admissionregistration, warnings};

pub(crate) static VALIDATING_ADMISSION_POLICY_BINDING: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Objects(admissionregistration::VALIDATING_BINDINGS),
    warnings: WarningRules {
        create: warnings::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::static_name(new, out)),
        ..WarningRules::NONE
    },
    from_manifests: true,
    ..Kind::PLAIN
};
