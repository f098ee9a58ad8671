//! The kind `EndpointSlice`.

use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy;
use crate::strategy::gated::places;
use crate::validation::kinds::endpoint_slice;
use crate::warnings::networking;

pub(crate) static ENDPOINT_SLICE: Kind = Kind {
    validation: Validation::Settings(endpoint_slice::RULES),
    warnings: WarningRules {
        create: networking::new_endpoint_slice,
        update: OnUpdate::Own(|new, _, out| networking::endpoint_slice(new, out)),
        ..WarningRules::NONE
    },
    strategy: &strategy::endpoint_slice::EndpointSlices,
    gated: places::ENDPOINT_SLICE,
    counts_first: true,
    counted_metadata: Some("labels"),
    ..Kind::PLAIN
};
