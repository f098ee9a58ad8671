//! Resources of `authorization.k8s.io`.

use schema::builtin::{
    IO_K8S_API_AUTHORIZATION_V1_LOCALSUBJECTACCESSREVIEW,
    IO_K8S_API_AUTHORIZATION_V1_SELFSUBJECTACCESSREVIEW, IO_K8S_API_AUTHORIZATION_V1_SELFSUBJECTRULESREVIEW,
    IO_K8S_API_AUTHORIZATION_V1_SUBJECTACCESSREVIEW,
};

use super::{Builtin, CREATE_ONLY, EndpointOperation, RESOURCE, Resource, Review, since};

kinds! { in "authorization.k8s.io":
    LocalSubjectAccessReview: authorization::local_subject_access_review, access_review::LOCAL;
    SelfSubjectAccessReview: authorization::self_subject_access_review, NONE;
    SelfSubjectRulesReview: authorization::self_subject_rules_review, NONE;
    SubjectAccessReview: authorization::subject_access_review, access_review::CLUSTER;
}

/// Properties that all `authorization.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "authorization.k8s.io",
    version: "v1",
    group_version: "authorization.k8s.io/v1",
    kind_group_version: "authorization.k8s.io/v1",
    namespaced: false,
    lifecycle: since(19),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "localsubjectaccessreviews",
        builtin: Some(Builtin::LocalSubjectAccessReview),
        operation: EndpointOperation::Review(Review::LocalSubjectAccess),
        kind: "LocalSubjectAccessReview",
        singular: "localsubjectaccessreview",
        namespaced: true,
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHORIZATION_V1_LOCALSUBJECTACCESSREVIEW,
        ..V1
    },
    Resource {
        plural: "selfsubjectaccessreviews",
        builtin: Some(Builtin::SelfSubjectAccessReview),
        operation: EndpointOperation::Review(Review::SelfSubjectAccess),
        kind: "SelfSubjectAccessReview",
        singular: "selfsubjectaccessreview",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHORIZATION_V1_SELFSUBJECTACCESSREVIEW,
        ..V1
    },
    Resource {
        plural: "selfsubjectrulesreviews",
        builtin: Some(Builtin::SelfSubjectRulesReview),
        operation: EndpointOperation::Review(Review::SelfSubjectRules),
        kind: "SelfSubjectRulesReview",
        singular: "selfsubjectrulesreview",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHORIZATION_V1_SELFSUBJECTRULESREVIEW,
        ..V1
    },
    Resource {
        plural: "subjectaccessreviews",
        builtin: Some(Builtin::SubjectAccessReview),
        operation: EndpointOperation::Review(Review::SubjectAccess),
        kind: "SubjectAccessReview",
        singular: "subjectaccessreview",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHORIZATION_V1_SUBJECTACCESSREVIEW,
        lifecycle: since(6),
        ..V1
    },
];
