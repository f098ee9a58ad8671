//! Table columns of certificate signing requests.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::NONE;
use api::table::view::View;
use apimachinery::duration::human_duration;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    AGE,
    Column::text("SignerName", |object, _| object.get_path("spec.signerName").non_empty_or(NONE).into()).with_description("Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`."),
    Column::text("Requestor", |object, _| object.get_path("spec.username").into()).with_description("Base64-encoded PKCS#10 CSR data"),
    Column::text("RequestedDuration", |object, _| requested_duration(object).into()).with_description_of("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "expirationSeconds"),
    Column::text("Condition", |object, _| condition(object.get("status")).into()).with_description("Conditions applied to the request, such as approval or denial."),
];

fn requested_duration(request: View<'_>) -> String {
    let expiration = request.get_path("spec.expirationSeconds");
    if !expiration.exists() {
        return NONE.to_owned();
    }
    human_duration(expiration.int().saturating_mul(1_000_000_000))
}

/// Returns the decision, then its outcome.
fn condition(status: View<'_>) -> String {
    let has_condition = |condition_type| status.get("conditions").condition(condition_type).is_some();
    let decision = match (has_condition("Denied"), has_condition("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has_condition("Failed") { ",Failed" } else { "" };
    let issued = if status.get("certificate").has_bytes() { ",Issued" } else { "" };
    format!("{decision}{failed}{issued}")
}
