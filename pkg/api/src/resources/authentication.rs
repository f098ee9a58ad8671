//! Resources of `authentication.k8s.io`.

use schema::builtin::{
    IO_K8S_API_AUTHENTICATION_V1_SELFSUBJECTREVIEW, IO_K8S_API_AUTHENTICATION_V1_TOKENREVIEW,
};

use super::{Builtin, CREATE_ONLY, EndpointOperation, RESOURCE, Resource, Review, since};

kinds! { in "authentication.k8s.io":
    SelfSubjectReview: authentication::self_subject_review, NONE;
    TokenReview: authentication::token_review, NONE;
}

/// Properties that all `authentication.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "authentication.k8s.io",
    version: "v1",
    group_version: "authentication.k8s.io/v1",
    kind_group_version: "authentication.k8s.io/v1",
    namespaced: false,
    lifecycle: since(28),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "selfsubjectreviews",
        builtin: Some(Builtin::SelfSubjectReview),
        operation: EndpointOperation::Review(Review::SelfSubject),
        kind: "SelfSubjectReview",
        singular: "selfsubjectreview",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHENTICATION_V1_SELFSUBJECTREVIEW,
        ..V1
    },
    Resource {
        plural: "tokenreviews",
        builtin: Some(Builtin::TokenReview),
        operation: EndpointOperation::Review(Review::Token),
        kind: "TokenReview",
        singular: "tokenreview",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHENTICATION_V1_TOKENREVIEW,
        lifecycle: since(6),
        ..V1
    },
];
