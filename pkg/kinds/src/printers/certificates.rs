//! Rows of certificate requests and trust bundles.

use super::column::{AGE, Column, NAME, text};
use super::format::{NONE, labels};
use super::view::View;
use apimachinery::duration::human_duration;

pub(super) static CERTIFICATE_SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", |object, _| object.at("spec.signerName").non_empty_or(NONE).into()).described("Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`."),
    text("Requestor", |object, _| object.at("spec.username").into()).described("Base64-encoded PKCS#10 CSR data"),
    text("RequestedDuration", |object, _| requested_duration(object).into()).described_as("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "expirationSeconds"),
    text("Condition", |object, _| condition(object.get("status")).into()).described("Conditions applied to the request, such as approval or denial."),
];

pub(super) static CLUSTER_TRUST_BUNDLE: &[Column] = &[
    NAME,
    text("SignerName", |object, _| object.at("spec.signerName").non_empty_or(NONE).into())
        .described_as("io.k8s.api.certificates.v1beta1.ClusterTrustBundleSpec", "signerName"),
];

pub(super) static POD_CERTIFICATE_REQUEST: &[Column] = &[
    NAME,
    text("PodName", |object, _| object.at("spec.podName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "podName"),
    text("ServiceAccountName", |object, _| object.at("spec.serviceAccountName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "serviceAccountName"),
    text("NodeName", |object, _| object.at("spec.nodeName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "nodeName"),
    text("SignerName", |object, _| object.at("spec.signerName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "signerName"),
    text("State", |object, _| pod_request_state(object).into())
        .described("Is the request Pending, Issued, Denied, or Failed?"),
    text("UnverifiedUserAnnotations", |object, _| labels(object.at("spec.unverifiedUserAnnotations")).into())
        .described_as(
            "io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec",
            "unverifiedUserAnnotations",
        ),
];

fn requested_duration(request: View<'_>) -> String {
    let expiration = request.at("spec.expirationSeconds");
    if !expiration.exists() {
        return NONE.to_owned();
    }
    human_duration(expiration.int().saturating_mul(1_000_000_000))
}

fn pod_request_state<'a>(request: View<'a>) -> &'a str {
    let types = request.at("status.conditions").items().map(|c| c.get("type").text());
    types.filter(|t| matches!(*t, "Issued" | "Denied" | "Failed")).last().unwrap_or("Pending")
}

/// Returns the decision, then its outcome.
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
