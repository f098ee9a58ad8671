//! The kind `Endpoints`.

use crate::kind::{Kind, Validation, WarningRules};
use crate::validation::kinds::endpoints;
use crate::warnings::networking;

pub(crate) static ENDPOINTS: Kind = Kind {
    validation: Validation::Settings(endpoints::RULES),
    warnings: WarningRules { create: networking::endpoints, ..WarningRules::NONE },
    ..Kind::PLAIN
};
