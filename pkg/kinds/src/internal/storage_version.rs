//! The kind `StorageVersion`.

use crate::kind::Kind;
use api::name_rule::NameRule;

pub(crate) static STORAGE_VERSION: Kind = Kind { names: NameRule::GroupAndResource, ..Kind::PLAIN };
