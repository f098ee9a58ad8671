//! The kinds of the API group `internal`.

pub(crate) mod storage_version;
