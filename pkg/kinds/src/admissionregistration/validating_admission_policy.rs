//! The kind `ValidatingAdmissionPolicy`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::{admissionregistration, warnings};

pub(crate) static VALIDATING_ADMISSION_POLICY: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Settings(admissionregistration::VALIDATING_POLICIES),
    warnings: WarningRules {
        create: warnings::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::static_name(new, out)),
        update_status: warnings::static_name,
        ..WarningRules::NONE
    },
    from_manifests: true,
    ..Kind::PLAIN
};
