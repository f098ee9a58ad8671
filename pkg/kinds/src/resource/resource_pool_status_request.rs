//! The kind `ResourcePoolStatusRequest`.

mod columns;

use crate::defaults::fill::{if_nil, within};
use crate::kind::{Columns, Exceptions, Kind, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with("resource.k8s.io/v1alpha3", |request| {
        within(request, "spec", |spec| if_nil(spec, "limit", 100))
    })],
    // Off by default. Only the metadata is validated so far.
    validation: Validation::Metadata,
    warnings: WarningRules::NONE,
    columns: Columns::Own(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    exceptions: Exceptions::NONE,
};
