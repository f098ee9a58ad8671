//! The kind `ResourceClaim`.

mod columns;
mod strategy;

use crate::kind::{Columns, Exceptions, Kind, Validation, Version, WarningRules};
use crate::resource::defaults::{request, request_v1beta1, resource_claim};
use crate::resource::{device, gated};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with("resource.k8s.io/v1", |claim| resource_claim(claim, request)),
        Version::with("resource.k8s.io/v1beta2", |claim| resource_claim(claim, request)),
        Version::with("resource.k8s.io/v1beta1", |claim| resource_claim(claim, request_v1beta1)),
    ],
    validation: Validation::Settings(device::CLAIMS),
    warnings: WarningRules::NONE,
    columns: Columns::Own(columns::COLUMNS),
    gated: gated::RESOURCE_CLAIM,
    strategy: &strategy::ResourceClaims,
    exceptions: Exceptions::NONE,
};
