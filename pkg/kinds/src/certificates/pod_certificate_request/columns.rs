//! Table columns of pod certificate requests.

use crate::printers::column::{Column, NAME};
use crate::printers::format::labels;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("PodName", |object, _| object.at("spec.podName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "podName"),
    Column::text("ServiceAccountName", |object, _| object.at("spec.serviceAccountName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "serviceAccountName"),
    Column::text("NodeName", |object, _| object.at("spec.nodeName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "nodeName"),
    Column::text("SignerName", |object, _| object.at("spec.signerName").into())
        .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "signerName"),
    Column::text("State", |object, _| pod_request_state(object).into())
        .described("Is the request Pending, Issued, Denied, or Failed?"),
    Column::text("UnverifiedUserAnnotations", |object, _| {
        labels(object.at("spec.unverifiedUserAnnotations")).into()
    })
    .described_as("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "unverifiedUserAnnotations"),
];

fn pod_request_state<'a>(request: View<'a>) -> &'a str {
    let types = request.at("status.conditions").items().map(|c| c.get("type").text());
    types.filter(|t| matches!(*t, "Issued" | "Denied" | "Failed")).last().unwrap_or("Pending")
}
