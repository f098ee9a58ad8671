//! Trace spans of writes. They have upstream's names (apiserver `storage/etcd3/store.go`) for every store, so
//! that slow writes have the same spans everywhere.

use component_base::trace::Span;
use storage::UpdateResult;

use super::Target;

/// Starts the span of a write to `key`, which is relative to the prefix of the store.
pub(super) fn write(name: &'static str, target: &Target<'_>, key: &str) -> Span {
    Span::current().child(name, || {
        let package = match target.resource.group.split('.').next().unwrap_or_default() {
            "" => "core",
            group => group,
        };
        let go_type = match target.resource.builtin {
            Some(_) => format!("*{package}.{}", target.resource.kind),
            None => "*unstructured.Unstructured".to_owned(),
        };
        vec![
            ("key", key.into()),
            ("type", go_type.into()),
            ("group", target.resource.group.into()),
            ("resource", target.resource.plural.into()),
        ]
    })
}

/// Records the result of an update with `len` bytes.
pub(super) fn record_update(span: &Span, updated: &UpdateResult, len: usize) {
    if !matches!(updated, UpdateResult::Unchanged(_)) {
        span.event("Txn call completed");
        span.event("Transaction committed");
    }
    span.event_with("Decode succeeded", "len", len);
}
