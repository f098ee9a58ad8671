//! The kind `ServiceCIDR`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, Validation, WarningRules, WriteRules};
use crate::networking;
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(networking::service_range::SERVICE_CIDRS),
    warnings: WarningRules::NONE,
    columns: Columns::Own(&[
        NAME,
        Column::text("CIDRs", |object, _| object.at("spec.cidrs").texts().join(",").into())
            .described_as("io.k8s.api.networking.v1.ServiceCIDRSpec", "cidrs"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    writes: WriteRules::COMMON,
};
