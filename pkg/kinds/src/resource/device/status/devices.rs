//! Drivers' statuses of allocated devices (KEP-4817).

use super::super::at_most;
use super::super::configuration::raw_object;
use super::pool;
use crate::validation::cidr::interface_address;
use crate::validation::conditions::conditions;
use crate::validation::value::dns_label;
use crate::validation::volume_source::csi_driver;
use api::tree::{child, children, list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

const CONDITIONS_MAX: usize = 8;
const ADDRESSES_MAX: usize = 16;
/// Length limits of an interface name and of a hardware address, in bytes.
const INTERFACE_BYTES_MAX: usize = 256;
const HARDWARE_BYTES_MAX: usize = 128;
/// Format of a share's id.
const UUID_BYTES: usize = 36;
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];

/// Identity of a device or of a share.
type Id<'o> = [&'o str; 4];

fn id(device: &Object) -> Id<'_> {
    ["driver", "pool", "device", "shareID"].map(|member| text(device, member))
}

/// Formats an id like Go's struct.
fn id_value([driver, pool, device, share]: Id<'_>) -> BadValue {
    let [driver, pool, device, share] =
        [driver, pool, device, share].map(|text| Value::from(text).to_string());
    BadValue::Plain(format!(
        "{{\"Driver\":{driver},\"Pool\":{pool},\"Device\":{device},\"ShareID\":{share}}}"
    ))
}

/// Validates device statuses: each is for an allocated device, and devices are unique.
pub(crate) fn devices(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let allocated = child(status, "allocation").and_then(|allocation| child(allocation, "devices"));
    let allocated: BTreeSet<Id<'_>> =
        allocated.into_iter().flat_map(|devices| children(devices, "results")).map(id).collect();
    for (index, item) in children(status, "devices").enumerate() {
        device(&path.index(index), item, &allocated, errors);
    }
    let mut seen = BTreeSet::new();
    for (index, id) in children(status, "devices").map(id).enumerate() {
        if !seen.insert(id) {
            errors.push(Error::duplicate(&path.index(index), id_value(id)));
        }
    }
}

fn device(path: &Path<'_>, device: &Object, allocated: &BTreeSet<Id<'_>>, errors: &mut ErrorList) {
    csi_driver(&path.child("driver"), text(device, "driver"), errors);
    pool(&path.child("pool"), text(device, "pool"), errors);
    dns_label(&path.child("device"), text(device, "device"), errors);
    share_id(&path.child("shareID"), device, errors);
    if !allocated.contains(&id(device)) {
        let detail = "must be an allocated device in the claim";
        errors.push(Error::invalid(path, id_value(id(device)), detail));
    }
    let conditions_path = path.child("conditions");
    at_most(&conditions_path, list(device, "conditions").len(), CONDITIONS_MAX, errors);
    conditions(&conditions_path, device, errors);
    let data = text(device, "data");
    if !data.is_empty() {
        raw_object(&path.child("data"), data, false, errors);
    }
    if let Some(network) = child(device, "networkData") {
        network_data(&path.child("networkData"), network, errors);
    }
}

fn network_data(path: &Path<'_>, network: &Object, errors: &mut ErrorList) {
    for (member, max) in [("interfaceName", INTERFACE_BYTES_MAX), ("hardwareAddress", HARDWARE_BYTES_MAX)] {
        if text(network, member).len() > max {
            errors.push(Error::too_long(&path.child(member), Some(max)));
        }
    }
    let path = path.child("ips");
    if at_most(&path, list(network, "ips").len(), ADDRESSES_MAX, errors) {
        for (index, address) in texts(network, "ips").enumerate() {
            interface_address(&path.index(index), address, errors);
        }
        super::super::duplicates::duplicates(&path, texts(network, "ips"), errors);
    }
}

/// Validates the id of a device share, a lower-case UUID. `path` is that of the id.
pub(super) fn share_id(path: &Path<'_>, device: &Object, errors: &mut ErrorList) {
    let Some(id) = maybe_text(device, "shareID") else { return };
    let lengths = [UUID_BYTES, UUID_BYTES + "urn:uuid:".len(), UUID_BYTES + "{}".len(), UUID_BYTES - 4];
    let is_uuid = id.len() == UUID_BYTES
        && id.bytes().enumerate().all(|(index, byte)| {
            if UUID_DASHES.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        });
    let detail = if !lengths.contains(&id.len()) {
        format!("error validating uid: invalid UUID length: {}", id.len())
    } else if !is_uuid {
        "error validating uid: invalid UUID format".to_owned()
    } else if id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase \
         hexadecimal characters"
            .to_owned()
    } else {
        return;
    };
    errors.push(Error::invalid(path, id, detail));
}
