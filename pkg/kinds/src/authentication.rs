//! The kinds of the API group `authentication`.

pub(crate) mod self_subject_review;
pub(crate) mod token_review;
