//! The kind `MutatingWebhookConfiguration`.

use crate::admissionregistration::{self, columns, defaults};
use crate::defaults::fill::each;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::warnings;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: &[
        Version::with_defaults("admissionregistration.k8s.io/v1", |all| {
            each(all, "webhooks", defaults::mutating_webhook)
        }),
        Version::with_defaults("admissionregistration.k8s.io/v1beta1", |all| {
            each(all, "webhooks", defaults::mutating_webhook_v1beta1)
        }),
    ],
    validation: Validation::Settings(admissionregistration::MUTATING_WEBHOOKS),
    warnings: WarningRules {
        create: warnings::webhook::created,
        update: OnUpdate::Custom(|new, _, out| warnings::webhook::updated(new, out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::WEBHOOK_CONFIGURATION),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { from_manifests: true, ..RareProperties::NONE },
};
