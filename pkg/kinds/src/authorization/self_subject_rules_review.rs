//! The kind `SelfSubjectRulesReview`.

use crate::kind::Kind;

pub(crate) static SELF_SUBJECT_RULES_REVIEW: Kind = Kind::PLAIN;
