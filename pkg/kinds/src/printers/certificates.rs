//! Rows of certificate requests and trust bundles.

use super::format::{NONE, age, labels};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::duration::human_duration;
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "certificatesigningrequests" => signing_request,
        "clustertrustbundles" => trust_bundle,
        "podcertificaterequests" => pod_request,
        _ => return None,
    })
}

fn signing_request(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let expiration = spec.get("expirationSeconds");
    let duration = if expiration.exists() {
        human_duration(expiration.int().saturating_mul(1_000_000_000))
    } else {
        NONE.to_owned()
    };
    vec![
        object.name(),
        age(object, now),
        spec.get("signerName").filled_or(NONE).into(),
        spec.get("username").into(),
        duration.into(),
        condition(object.get("status")).into(),
    ]
}

/// The decision, then what came of it.
fn condition(status: View<'_>) -> String {
    let has = |condition_type| status.get("conditions").condition(condition_type).is_some();
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if status.get("certificate").has_bytes() { ",Issued" } else { "" };
    format!("{decision}{failed}{issued}")
}

fn trust_bundle(object: View<'_>, _: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.at("spec.signerName").filled_or(NONE).into()]
}

fn pod_request(object: View<'_>, _: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let types = object.at("status.conditions").items().map(|c| c.get("type").text());
    let state = types.filter(|t| matches!(*t, "Issued" | "Denied" | "Failed")).last();
    vec![
        object.name(),
        spec.get("podName").into(),
        spec.get("serviceAccountName").into(),
        spec.get("nodeName").into(),
        spec.get("signerName").into(),
        state.unwrap_or("Pending").into(),
        labels(spec.get("unverifiedUserAnnotations")).into(),
    ]
}
