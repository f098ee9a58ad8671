//! The answer to an apply that would change what others own.

use std::collections::BTreeMap;

use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Details, Status};
use schema::structured_merge::conflict::Conflict;
use schema::structured_merge::path::PathText;

use super::entries::{Managed, Operation};

/// The 409 that names every field and its owner. `managed` knows the owners.
pub(super) fn status(conflicts: &[Conflict], managed: &Managed) -> Box<Status> {
    let causes = conflicts
        .iter()
        .map(|conflict| Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", describe(&conflict.manager, managed)),
            field: PathText(&conflict.path).to_string(),
        })
        .collect();
    let details = Details { causes, ..Details::default() };
    Box::new(Status::failure(409, "Conflict", message(conflicts, managed)).with_details(details))
}

fn message(conflicts: &[Conflict], managed: &Managed) -> String {
    if let [only] = conflicts {
        let manager = describe(&only.manager, managed);
        return format!("Apply failed with 1 conflict: conflict with {manager}: {}", PathText(&only.path));
    }
    let mut by_manager: BTreeMap<&str, Vec<&Conflict>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager.entry(&conflict.manager).or_default().push(conflict);
    }
    let mut lines = Vec::new();
    for (manager, conflicts) in by_manager {
        lines.push(format!("conflicts with {}:", describe(manager, managed)));
        lines.extend(conflicts.into_iter().map(|conflict| format!("- {}", PathText(&conflict.path))));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// A manager in words: its name, the subresource, and the version that an update spoke.
fn describe(identifier: &str, managed: &Managed) -> String {
    let Some(origin) = managed.origins.get(identifier) else { return quote(identifier) };
    let mut text = quote(&origin.manager);
    if !origin.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&quote(&origin.subresource));
    }
    if origin.operation == Operation::Update {
        text.push_str(" using ");
        text.push_str(&origin.api_version);
    }
    text
}
