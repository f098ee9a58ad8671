//! The kind `StorageClass`.

mod columns;
mod defaults;

use crate::kind::{Columns, Kind, Validation, Version, WarningRules, WriteRules};
use crate::strategy::hooks::Common;
use crate::{storage, warnings};
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with("storage.k8s.io/v1", defaults::storage_class),
        Version::with("storage.k8s.io/v1beta1", defaults::storage_class),
    ],
    validation: Validation::Objects(storage::class::STORAGE_CLASSES),
    warnings: WarningRules { create: warnings::storage::class, ..WarningRules::NONE },
    columns: Columns::Own(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    writes: WriteRules::COMMON,
};
