//! Resource claims: the status of a device is removed when the device is deallocated (KEP-4817; upstream's
//! `registry/resource/resourceclaim/strategy.go`).

use crate::strategy::hooks::{Context, Strategy};
use api::tree;
use jsontree::Value;
use schema::object::{self, Object};
use std::collections::HashSet;

const DEVICES: [&str; 2] = ["status", "devices"];

/// Identity of a device, or of the claim's share of it.
const IDENTITY: [&str; 4] = ["driver", "pool", "device", "shareID"];

pub(crate) struct ResourceClaims;

impl Strategy for ResourceClaims {
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        if subresource != "status" || object::get_list(new, &DEVICES).is_empty() {
            return;
        }
        let still: HashSet<_> = results(new).collect();
        let removed: HashSet<_> = results(old).filter(|device| !still.contains(device)).collect();
        let devices = object::get_list(new, &DEVICES).iter();
        let remaining: Vec<Value> = devices
            .filter(|device| !device.as_object().is_some_and(|device| removed.contains(&identity(device))))
            .cloned()
            .collect();
        if remaining.is_empty() {
            object::remove(new, &DEVICES);
        } else {
            object::set(new, &DEVICES, remaining);
        }
    }
}

/// Returns the devices of a claim's allocation.
fn results(claim: &Object) -> impl Iterator<Item = [&str; 4]> {
    let results = object::get_list(claim, &["status", "allocation", "devices", "results"]);
    results.iter().filter_map(Value::as_object).map(identity)
}

fn identity(device: &Object) -> [&str; 4] {
    IDENTITY.map(|name| tree::text(device, name))
}
