//! Table columns of pod certificate requests.

use crate::printers::column::{Column, NAME};
use crate::printers::format::labels;
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("PodName", |object, _| object.get_path("spec.podName").into())
        .with_description_of("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "podName"),
    Column::text("ServiceAccountName", |object, _| object.get_path("spec.serviceAccountName").into())
        .with_description_of(
            "io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec",
            "serviceAccountName",
        ),
    Column::text("NodeName", |object, _| object.get_path("spec.nodeName").into())
        .with_description_of("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "nodeName"),
    Column::text("SignerName", |object, _| object.get_path("spec.signerName").into())
        .with_description_of("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "signerName"),
    Column::text("State", |object, _| pod_request_state(object).into())
        .with_description("Is the request Pending, Issued, Denied, or Failed?"),
    Column::text("UnverifiedUserAnnotations", |object, _| {
        labels(object.get_path("spec.unverifiedUserAnnotations")).into()
    })
    .with_description_of(
        "io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec",
        "unverifiedUserAnnotations",
    ),
];

fn pod_request_state<'a>(request: View<'a>) -> &'a str {
    let types = request.get_path("status.conditions").items().map(|c| c.get("type").text());
    types.filter(|t| matches!(*t, "Issued" | "Denied" | "Failed")).last().unwrap_or("Pending")
}
