//! The kind `ValidatingWebhookConfiguration`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::{admissionregistration, warnings};

pub(crate) static VALIDATING_WEBHOOK_CONFIGURATION: Kind = Kind {
    qualified_finalizers: false,
    validation: Validation::Settings(admissionregistration::VALIDATING_WEBHOOKS),
    warnings: WarningRules {
        create: warnings::new_manifest_kind,
        update: OnUpdate::Own(|new, _, out| warnings::static_name(new, out)),
        ..WarningRules::NONE
    },
    from_manifests: true,
    ..Kind::PLAIN
};
