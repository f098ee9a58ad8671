//! Metadata of stored objects that decides about their deletion, read without decoding the rest.

use std::collections::HashSet;

use api::resources::{Encoding, StorageSpec};
use api::{meta, tree};
use jsontree::Value;
use schema::json::{RawString, Scanner, decode_untyped_stored};
use schema::object::Object;
use schema::proto::Envelope;
use schema::proto::inplace::{MemberRef, MessageRef, NotInPlace};
use schema::proto::meta::Header;

/// Finalizer of an owner whose dependents must lose their references first.
pub(super) const ORPHAN_FINALIZER: &str = "orphan";
/// Finalizer of an owner whose blocking dependents must be gone first.
pub(super) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

/// Reference of an object to its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OwnerReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// True if the owner's foreground deletion waits for the object.
    pub(super) blocks: bool,
}

/// Progress of an object's deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DeletionState {
    /// True if the object has a deletion timestamp.
    pub(super) deleting: bool,
    /// True with the finalizer of foreground deletion.
    pub(super) foreground: bool,
    /// True with the finalizer for orphans.
    pub(super) orphan: bool,
}

impl DeletionState {
    /// True if the deletion waits for the garbage collector.
    pub(super) fn waits(self) -> bool {
        self.deleting && (self.foreground || self.orphan)
    }

    /// True if the deletion waits for blocking dependents.
    pub(super) fn deletes_dependents(self) -> bool {
        self.deleting && self.foreground
    }
}

/// Metadata of one stored object.
pub(super) enum StoredMeta<'a> {
    Protobuf {
        header: Header<'a>,
        object: MessageRef<'a>,
    },
    /// The object's tree without other members than `metadata`.
    Json(Object),
}

impl<'a> StoredMeta<'a> {
    /// Reads the metadata of canonical stored bytes; `None` if they are malformed.
    pub(super) fn read(storage: &StorageSpec<'_>, bytes: &'a [u8]) -> Option<Self> {
        match storage.encoding {
            Encoding::Protobuf => {
                let raw = Envelope::parse(bytes).ok()?.raw;
                let object = MessageRef::new(storage.message, raw);
                Some(StoredMeta::Protobuf { header: Header::parse(raw).ok()?, object })
            }
            Encoding::Json => {
                let metadata = decode_untyped_stored(metadata_text(bytes)?).ok()?.value;
                let mut object = Object::new();
                object.insert("metadata", metadata);
                Some(StoredMeta::Json(object))
            }
        }
    }

    pub(super) fn uid(&self) -> &str {
        match self {
            StoredMeta::Protobuf { header, .. } => header.uid,
            StoredMeta::Json(object) => meta::text(object, "uid"),
        }
    }

    pub(super) fn finalizers(&self) -> Vec<&str> {
        match self {
            StoredMeta::Protobuf { header, .. } => header.finalizers().collect(),
            StoredMeta::Json(object) => meta::finalizers(object),
        }
    }

    /// Returns the progress of the object's deletion.
    pub(super) fn deletion(&self) -> DeletionState {
        let deleting = match self {
            StoredMeta::Protobuf { header, .. } => header.deleting,
            StoredMeta::Json(object) => meta::is_deleting(object),
        };
        let finalizers = self.finalizers();
        DeletionState {
            deleting,
            foreground: finalizers.contains(&FOREGROUND_FINALIZER),
            orphan: finalizers.contains(&ORPHAN_FINALIZER),
        }
    }

    /// Returns the owner references; `None` if they cannot be read.
    pub(super) fn owners(&self) -> Option<Vec<OwnerReference>> {
        match self {
            StoredMeta::Protobuf { header, .. } if header.owner_uids().next().is_none() => Some(Vec::new()),
            StoredMeta::Protobuf { object, .. } => {
                owners_in_place(*object).ok().or_else(|| Some(owners_of_tree(&object.tree().ok()?)))
            }
            StoredMeta::Json(object) => Some(owners_of_tree(object)),
        }
    }
}

/// Returns the text of the member `metadata`.
fn metadata_text(bytes: &[u8]) -> Option<&[u8]> {
    let mut scanner = Scanner::new(bytes);
    scanner.value_start().ok()?;
    scanner.open().ok()?;
    let mut is_first = true;
    while let Some(name) = scanner.next_member(is_first).ok()? {
        let value = scanner.skip().ok()?;
        if RawString::text(&name) == "metadata" {
            return Some(value);
        }
        is_first = false;
    }
    None
}

fn owners_in_place(object: MessageRef<'_>) -> Result<Vec<OwnerReference>, NotInPlace> {
    let MemberRef::Message(metadata) = object.get("metadata")? else { return Ok(Vec::new()) };
    let MemberRef::List(owners) = metadata.get("ownerReferences")? else { return Ok(Vec::new()) };
    owners
        .iter()
        .map(|owner| match owner? {
            MemberRef::Message(owner) => Ok(OwnerReference {
                api_version: text(owner, "apiVersion")?,
                kind: text(owner, "kind")?,
                name: text(owner, "name")?,
                uid: text(owner, "uid")?,
                blocks: matches!(owner.get("blockOwnerDeletion")?, MemberRef::Bool(true)),
            }),
            _ => Ok(OwnerReference::default()),
        })
        .collect()
}

fn text(owner: MessageRef<'_>, member: &str) -> Result<String, NotInPlace> {
    match owner.get(member)? {
        MemberRef::Text(text) => Ok(text.to_owned()),
        _ => Ok(String::new()),
    }
}

/// Returns the owner references of an object tree.
pub(super) fn owners_of_tree(object: &Object) -> Vec<OwnerReference> {
    let Some(metadata) = meta::metadata(object) else { return Vec::new() };
    let owner = |owner: &Object| OwnerReference {
        api_version: tree::text(owner, "apiVersion").to_owned(),
        kind: tree::text(owner, "kind").to_owned(),
        name: tree::text(owner, "name").to_owned(),
        uid: tree::text(owner, "uid").to_owned(),
        blocks: tree::flag(owner, "blockOwnerDeletion"),
    };
    tree::children(metadata, "ownerReferences").map(owner).collect()
}

/// Removes the references to these owners. Returns true if there were any.
pub(super) fn remove_owners(object: &mut Object, uids: &HashSet<String>) -> bool {
    edit_owners(object, |owners| {
        owners.retain(|owner| !uids.contains(owner.get("uid").and_then(Value::as_str).unwrap_or("")));
    })
}

/// Makes all references of an object non-blocking. Returns true if one was blocking.
pub(super) fn unblock_owners(object: &mut Object) -> bool {
    edit_owners(object, |owners| {
        for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
            if tree::flag(owner, "blockOwnerDeletion") {
                owner.insert("blockOwnerDeletion", false.into());
            }
        }
    })
}

fn edit_owners(object: &mut Object, edit: impl FnOnce(&mut Vec<Value>)) -> bool {
    let metadata = meta::metadata_mut(object);
    let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") else { return false };
    let before = owners.clone();
    edit(owners);
    let changed = *owners != before;
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    }
    changed
}

/// Removes a finalizer. Returns true if it was there.
pub(super) fn remove_finalizer(object: &mut Object, finalizer: &str) -> bool {
    let before = meta::finalizers(object);
    let rest: Vec<String> = before.iter().filter(|name| **name != finalizer).map(|&n| n.to_owned()).collect();
    if rest.len() == before.len() {
        return false;
    }
    meta::set_finalizers(object, rest);
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use jsontree::json;

    use super::*;

    fn config_map() -> Object {
        let Value::Object(object) = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "ns", "uid": "u1",
                "deletionTimestamp": "2025-01-01T00:00:00Z",
                "finalizers": ["example.com/x", "foregroundDeletion"],
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "o1", "blockOwnerDeletion": true},
                    {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "o2"},
                ],
            },
        }) else {
            panic!("no object");
        };
        object
    }

    #[test]
    fn both_encodings_have_the_same_metadata() {
        let object = config_map();
        let row = api::resources::find("", "v1", "configmaps", "").unwrap();
        let storage = row.storage.unwrap();
        let protobuf = registry::codec::encode(&storage, &object).unwrap();
        let json = serde_json::to_vec(&object).unwrap();
        let json_storage = StorageSpec { encoding: Encoding::Json, ..storage };
        let read = [StoredMeta::read(&storage, &protobuf), StoredMeta::read(&json_storage, &json)];
        for read in read.map(Option::unwrap) {
            assert_eq!(read.uid(), "u1");
            assert_eq!(read.deletion(), DeletionState { deleting: true, foreground: true, orphan: false });
            let owners = read.owners().unwrap();
            let brief: Vec<_> = owners.iter().map(|o| (&*o.name, &*o.uid, o.blocks)).collect();
            assert_eq!(brief, [("p", "o1", true), ("q", "o2", false)]);
            assert_eq!(owners, owners_of_tree(&object));
        }
    }

    #[test]
    fn edits_report_changes_only() {
        let uids = |uids: &[&str]| uids.iter().map(|&uid| uid.to_owned()).collect();
        let mut object = config_map();
        assert!(unblock_owners(&mut object) && !unblock_owners(&mut object));
        assert!(!remove_owners(&mut object, &uids(&["o3"])));
        assert!(remove_owners(&mut object, &uids(&["o1", "o2"])));
        assert!(!meta::metadata(&object).unwrap().contains_key("ownerReferences"));
        assert!(remove_finalizer(&mut object, FOREGROUND_FINALIZER));
        assert!(!remove_finalizer(&mut object, FOREGROUND_FINALIZER));
        assert_eq!(meta::finalizers(&object), ["example.com/x"]);
    }

    #[test]
    fn malformed_bytes_have_no_metadata() {
        let row = api::resources::find("", "v1", "configmaps", "").unwrap();
        let storage = row.storage.unwrap();
        assert!(StoredMeta::read(&storage, b"k8s\0nonsense").is_none());
        let json = StorageSpec { encoding: Encoding::Json, ..storage };
        for text in [&b"{\"a\":1}"[..], b"[]", b"", b"{\"metadata\":"] {
            assert!(StoredMeta::read(&json, text).is_none());
        }
    }
}
