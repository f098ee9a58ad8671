//! The compiled tables of the built-in types, and their lookup.

use jsontree::Key;

use crate::table::{Cardinality, Field, FieldInfo, Member, Message, MessageInfo, Names, Shape, Type};

/// One static per type, named after its definition (`IO_K8S_API_CORE_V1_POD`).
#[allow(missing_docs)]
mod tables {
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use tables::*;

/// Finds a type by its OpenAPI definition name.
pub fn message(name: &str) -> Option<&'static Message> {
    let at = ALL.binary_search_by(|m| m.name.cmp(name)).ok()?;
    ALL.get(at).copied()
}

/// True if a kind is registered in the version, `v1` or `group/version`, even if it is not served.
pub fn has_version(api_version: &str) -> bool {
    KINDS.iter().any(|&(version, _, message)| version == api_version && !message.info.unregistered)
}

/// True if a kind is registered in the group; the core group's name is empty.
pub fn has_group(group: &str) -> bool {
    let of = |version: &'static str| version.split_once('/').map_or("", |(group, _)| group);
    KINDS
        .iter()
        .any(|&(version, _, message)| version != "*" && of(version) == group && !message.info.unregistered)
}

/// Finds the type registered for a kind. `api_version` is `v1` or `group/version`. Kinds that exist in every
/// group (`Status`, `DeleteOptions`, …) are found for any group version. Kinds that upstream no longer registers
/// are found too, because objects of them can be stored ([`MessageInfo::unregistered`]).
pub fn kind(api_version: &str, kind: &str) -> Option<&'static Message> {
    let find = |version: &str| {
        let at = KINDS.binary_search_by(|&(v, k, _)| (v, k).cmp(&(version, kind))).ok()?;
        KINDS.get(at).map(|&(_, _, message)| message)
    };
    find(api_version).or_else(|| find("*"))
}
