//! Cells that evictions and eviction requests share.

use crate::printers::format::UNSET;
use api::table::view::View;

/// Returns the name of the target.
pub(super) fn target<'a>(object: View<'a>) -> &'a str {
    let pod = object.get_path("spec.target.pod");
    if pod.exists() { pod.get("name").text() } else { UNSET }
}

pub(super) fn target_type(object: View<'_>) -> &'static str {
    if object.get_path("spec.target.pod").exists() { "Pod" } else { UNSET }
}

/// Returns the outcome, and the progress if there is none.
pub(super) fn status(object: View<'_>) -> String {
    let conditions = object.get_path("status.conditions");
    for outcome in ["TargetEvicted", "Failed"] {
        let condition = conditions.items().find(|condition| condition.get("type").text() == outcome);
        if let Some(condition) = condition.filter(|condition| condition.get("status").text() == "True") {
            return format!("{outcome} ({})", condition.get("reason").text());
        }
    }
    let observed = object.get_path("status.observedGeneration").int() > 0;
    if observed { "Progressing".to_owned() } else { "Pending".to_owned() }
}
