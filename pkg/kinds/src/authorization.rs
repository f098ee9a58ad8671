//! The kinds of the API group `authorization`.

pub(crate) mod local_subject_access_review;
pub(crate) mod self_subject_access_review;
pub(crate) mod self_subject_rules_review;
pub(crate) mod subject_access_review;
