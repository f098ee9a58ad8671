//! The kind `SelfSubjectRulesReview`.

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use api::name_rule::NameRule;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    // Never stored: the handler validates the request.
    validation: Validation::Metadata,
    warnings: WarningRules::NONE,
    columns: Columns::NameAndCreation,
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};
