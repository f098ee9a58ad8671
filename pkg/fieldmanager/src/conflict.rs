//! Response to an apply that would change fields of other managers.

use crate::structured_merge::conflict::Conflict;
use crate::structured_merge::path::PathText;
use apimachinery::field::LIST_BYTES_MAX;
use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Details, Reason, Status};

use super::entries::{Managed, Operation};

/// Encoded size of a cause besides its texts, in bytes.
const CAUSE_BYTES: usize = r#"{"reason":"FieldManagerConflict","message":"conflict with ","field":""}"#.len();

/// Returns a 409 that lists every field and its owner, as far as they fit into a `Status`. The last cause
/// then contains the number of omitted fields. `managed` contains the owners.
pub(super) fn status(conflicts: &[Conflict], managed: &Managed) -> Box<Status> {
    let count: usize = conflicts.iter().map(|conflict| conflict.fields.len()).sum();
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    let mut bytes = 0_usize;
    for Conflict { manager, fields } in conflicts {
        if bytes > LIST_BYTES_MAX {
            break;
        }
        let owner = describe(manager, managed);
        lines.push(format!("conflicts with {owner}:"));
        fields.for_each(|path| {
            if bytes > LIST_BYTES_MAX {
                return;
            }
            let field = PathText(path).to_string();
            // The message contains the field too.
            let lengths = [CAUSE_BYTES, owner.len(), field.len(), field.len()];
            bytes = lengths.into_iter().fold(bytes, usize::saturating_add);
            if bytes > LIST_BYTES_MAX && !causes.is_empty() {
                return;
            }
            lines.push(format!("- {field}"));
            let message = format!("conflict with {owner}");
            causes.push(Cause { reason: "FieldManagerConflict".to_owned(), message, field });
        });
    }
    let message = match causes.as_slice() {
        [Cause { message, field, .. }] if count == 1 => {
            format!("Apply failed with 1 conflict: {message}: {field}")
        }
        _ => format!("Apply failed with {count} conflicts: {}", lines.join("\n")),
    };
    let more = count.saturating_sub(causes.len());
    if more > 0 {
        causes.push(Cause { message: format!("{more} more conflicts are left out"), ..Cause::default() });
    }
    let details = Details { causes, ..Details::default() };
    Box::new(Status::failure(409, Reason::Conflict, message).with_details(details))
}

/// Describes a manager: its name, the subresource, and the version of an update.
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
