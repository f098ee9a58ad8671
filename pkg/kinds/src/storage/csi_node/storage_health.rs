//! The health of the storage of CSI drivers on a node (KEP-1432).

use crate::validation::conditions::reason_messages;
use crate::validation::rules::metadata_update;
use crate::validation::value::{invalid_each, supported_value};
use crate::validation::volume_source::csi_driver;
use api::tree::{child, children, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

/// Limit of conditions for one driver.
const CONDITIONS_MAX: usize = 16;
/// Length limit of a reason in bytes.
const REASON_BYTES_MAX: usize = 256;
/// Length limit of a message in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;

const STATUSES: &[&str] = &["StorageDegraded", "StorageUnreachable"];
const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Validates an update of the status.
pub(super) fn update(new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let path = Path::root("status.storageHealth");
    let mut names = BTreeSet::new();
    let drivers = child(new, "status").into_iter().flat_map(|status| children(status, "storageHealth"));
    for (index, driver) in drivers.enumerate() {
        let path = path.index(index);
        let name = text(driver, "name");
        if !names.insert(name) {
            errors.push(Error::duplicate(&path, name));
        }
        health(&path, driver, &mut errors);
    }
    errors
}

fn health(path: &Path<'_>, driver: &Object, errors: &mut ErrorList) {
    match text(driver, "name") {
        "" => errors.push(Error::required(&path.child("name"), "")),
        name => csi_driver(&path.child("name"), name, errors),
    }
    let path = path.child("healthConditions");
    let count = list(driver, "healthConditions").len();
    if count > CONDITIONS_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(CONDITIONS_MAX)));
        return;
    }
    for (index, of_driver) in children(driver, "healthConditions").enumerate() {
        condition(&path.index(index), of_driver, errors);
    }
}

fn condition(path: &Path<'_>, condition: &Object, errors: &mut ErrorList) {
    supported_value(&path.child("status"), text(condition, "status"), STATUSES, errors);
    let reason = text(condition, "reason");
    let reason_path = path.child("reason");
    if reason.is_empty() {
        errors.push(Error::required(&reason_path, ""));
    } else {
        invalid_each(&reason_path, reason, reason_messages(reason), errors);
        if reason.len() > REASON_BYTES_MAX {
            errors.push(Error::too_long(&reason_path, Some(REASON_BYTES_MAX)));
        }
    }
    if text(condition, "message").len() > MESSAGE_BYTES_MAX {
        errors.push(Error::too_long(&path.child("message"), Some(MESSAGE_BYTES_MAX)));
    }
    if let Some(mode) = maybe_text(condition, "accessMode") {
        supported_value(&path.child("accessMode"), mode, ACCESS_MODES, errors);
    }
    if let Some(mode) = maybe_text(condition, "volumeMode") {
        supported_value(&path.child("volumeMode"), mode, &["Filesystem", "Block"], errors);
    }
}
