//! Device taint rules (KEP-5055).

use super::at_most;
use super::offered_device::taint;
use super::status::pool;
use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::dns_label;
use crate::validation::volume_source::csi_driver;
use api::tree::{child, list, maybe_text};
use apimachinery::field::{ErrorList, Path};
use schema::object::Object;

pub(crate) const RULES: Rules = Rules { create, update };

const CONDITIONS_MAX: usize = 8;

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    spec(new, None, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        let empty = Object::new();
        let root = Path::root("status");
        let status = child(new, "status").unwrap_or(&empty);
        conditions(&root.child("conditions"), status, &mut errors);
        at_most(&root.child("conditions"), list(status, "conditions").len(), CONDITIONS_MAX, &mut errors);
    } else {
        spec(new, child(old, "spec"), &mut errors);
    }
    errors
}

fn spec(rule: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let empty = Object::new();
    let root = Path::root("spec");
    let spec = child(rule, "spec").unwrap_or(&empty);
    if let Some(selector) = child(spec, "deviceSelector") {
        let path = root.child("deviceSelector");
        if let Some(name) = maybe_text(selector, "driver") {
            csi_driver(&path.child("driver"), name, errors);
        }
        if let Some(name) = maybe_text(selector, "pool") {
            pool(&path.child("pool"), name, errors);
        }
        if let Some(name) = maybe_text(selector, "device") {
            dns_label(&path.child("device"), name, errors);
        }
    }
    let old = old.and_then(|old| child(old, "taint"));
    taint(&root.child("taint"), child(spec, "taint").unwrap_or(&empty), old, errors);
}
