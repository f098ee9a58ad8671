//! Data of ConfigMaps and Secrets: size and immutability.

use api::tree::maybe_flag;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Size limit of a ConfigMap or Secret in bytes.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

pub(super) const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// Checks that an immutable object stays immutable and keeps its data.
pub(super) fn unchanged_if_immutable(new: &Object, old: &Object, members: &[&str], errors: &mut ErrorList) {
    if maybe_flag(old, "immutable") != Some(true) {
        return;
    }
    let forbidden = |member: &str| Error::forbidden(&Path::root(member), IMMUTABLE);
    if maybe_flag(new, "immutable") != Some(true) {
        errors.push(forbidden("immutable"));
    }
    let changed = members.iter().filter(|member| new.get(**member) != old.get(**member));
    errors.extend(changed.map(|member| forbidden(member)));
}

/// Returns the decoded length of a padded base64 text.
pub(super) fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}
