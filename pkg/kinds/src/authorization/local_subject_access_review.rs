//! The kind `LocalSubjectAccessReview`.

use crate::kind::Kind;

pub(crate) static LOCAL_SUBJECT_ACCESS_REVIEW: Kind = Kind::PLAIN;
