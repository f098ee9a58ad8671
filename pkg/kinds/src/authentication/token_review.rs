//! The kind `TokenReview`.

use crate::kind::Kind;

pub(crate) static TOKEN_REVIEW: Kind = Kind::PLAIN;
