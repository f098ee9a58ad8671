//! The kind `ServiceAccount`.

mod rules;
mod strategy;
mod warnings;

use crate::defaults::fill::{default_struct, if_nil};
use crate::kind::{
    Columns, Kind, NO_DEFAULTS, OnUpdate, RareProperties, SubresourceDefaults, Validation, WarningRules,
};
use crate::printers::column::{AGE, NAME};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(rules::RULES),
    warnings: WarningRules {
        create: |new, out| warnings::service_account(new, None, out),
        // Only if the problem is new.
        update: OnUpdate::Custom(|new, old, out| warnings::service_account(new, Some(old), out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[NAME, AGE]),
    gated: &[],
    strategy: &strategy::ServiceAccounts,
    rare_properties: RareProperties {
        subresource_defaults: &[SubresourceDefaults {
            api_version: "authentication.k8s.io/v1",
            kind: "TokenRequest",
            rule: |request| {
                default_struct(request, "spec", |spec| if_nil(spec, "expirationSeconds", TOKEN_SECONDS))
            },
        }],
        ..RareProperties::NONE
    },
};

/// Lifetime of a requested token in seconds.
const TOKEN_SECONDS: i64 = 3600;
