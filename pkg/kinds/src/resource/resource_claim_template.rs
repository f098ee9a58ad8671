//! The kind `ResourceClaimTemplate`.

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, NAME};
use crate::resource::defaults::{claim_template, request, request_v1beta1};
use crate::resource::{device, gated};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("resource.k8s.io/v1", |template| claim_template(template, request)),
        Version::with_defaults("resource.k8s.io/v1beta2", |template| claim_template(template, request)),
        Version::with_defaults("resource.k8s.io/v1beta1", |template| {
            claim_template(template, request_v1beta1)
        }),
    ],
    validation: Validation::Settings(device::TEMPLATES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[NAME, AGE]),
    gated: gated::RESOURCE_CLAIM_TEMPLATE,
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
