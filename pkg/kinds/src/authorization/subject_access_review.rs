//! The kind `SubjectAccessReview`.

use crate::kind::Kind;

pub(crate) static SUBJECT_ACCESS_REVIEW: Kind = Kind::PLAIN;
