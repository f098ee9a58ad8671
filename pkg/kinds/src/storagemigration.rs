//! The kinds of the API group `storagemigration`.

pub(crate) mod storage_version_migration;
