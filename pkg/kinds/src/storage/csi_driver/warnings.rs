//! Warnings about CSI drivers (`pkg/registry/storage/csidriver`).

use crate::warnings::collector::Warnings;
use api::tree::{child, list, text};
use component_base::features::Gate;
use schema::object::{Object, get_list};

/// Warns about a `CSIDriver` that requests tokens without setting `serviceAccountTokenInSecrets`. On a
/// replacement, it only warns if the token requests have changed.
pub(super) fn csi_driver(driver: &Object, old: Option<&Object>, out: &mut Warnings) {
    let Some(spec) = child(driver, "spec") else { return };
    if !out.enabled(Gate::CSIServiceAccountTokenSecrets)
        || list(spec, "tokenRequests").is_empty()
        || spec.get("serviceAccountTokenInSecrets").is_some_and(jsontree::Value::is_boolean)
        || old.is_some_and(|old| tokens(old).eq(tokens(driver)))
    {
        return;
    }
    out.add(format_args!(
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
         possible logging of tokens in volume attributes"
    ));
}

/// Iterates over a driver's token requests: audience and seconds.
fn tokens(driver: &Object) -> impl Iterator<Item = Option<(&str, Option<i64>)>> {
    get_list(driver, &["spec", "tokenRequests"]).iter().map(|request| {
        let request = request.as_object()?;
        Some((text(request, "audience"), request.get("expirationSeconds").and_then(jsontree::Value::as_i64)))
    })
}
