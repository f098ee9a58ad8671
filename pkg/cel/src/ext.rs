//! What CEL's functions do, on plain values: no expression, type or cost is known here. Error texts are those of
//! Go's libraries that upstream calls.

pub mod format;
pub mod ip;
pub mod named_format;
pub mod regex;
pub mod semver;
pub mod strings;
pub mod time;
pub mod url;
