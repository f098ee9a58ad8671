//! Table columns of resource claims.

use crate::printers::column::{AGE, Column, NAME};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("State", |object, _| claim_state(object).into())
        .with_description("A summary of the current state (allocated, pending, reserved, etc.)."),
    AGE,
];

fn claim_state(claim: View<'_>) -> &'static str {
    let deleted = claim.get_path("metadata.deletionTimestamp").exists();
    let allocated = claim.get_path("status.allocation").exists();
    let reserved = !claim.get_path("status.reservedFor").is_empty();
    match (deleted, allocated, reserved) {
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
    }
}
