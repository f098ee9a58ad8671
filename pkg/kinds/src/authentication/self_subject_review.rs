//! The kind `SelfSubjectReview`.

use crate::kind::Kind;

pub(crate) static SELF_SUBJECT_REVIEW: Kind = Kind::PLAIN;
