//! The kind `ResourceClaim`.

mod columns;
mod strategy;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::resource::defaults::{request, request_v1beta1, resource_claim};
use crate::resource::{device, gated};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("resource.k8s.io/v1", |claim| resource_claim(claim, request)),
        Version::with_defaults("resource.k8s.io/v1beta2", |claim| resource_claim(claim, request)),
        Version::with_defaults("resource.k8s.io/v1beta1", |claim| resource_claim(claim, request_v1beta1)),
    ],
    validation: Validation::Settings(device::CLAIMS),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: gated::RESOURCE_CLAIM,
    strategy: &strategy::ResourceClaims,
    rare_properties: RareProperties::NONE,
};
