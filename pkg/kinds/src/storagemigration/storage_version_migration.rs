//! The kind `StorageVersionMigration`.

use crate::kind::Kind;

pub(crate) static STORAGE_VERSION_MIGRATION: Kind = Kind::PLAIN;
