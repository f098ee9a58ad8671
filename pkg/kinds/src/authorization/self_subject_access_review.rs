//! The kind `SelfSubjectAccessReview`.

use crate::kind::Kind;

pub(crate) static SELF_SUBJECT_ACCESS_REVIEW: Kind = Kind::PLAIN;
