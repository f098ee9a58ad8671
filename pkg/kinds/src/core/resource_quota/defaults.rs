//! Defaults of resource quotas.

use crate::defaults::fill::if_present;
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;

pub(super) fn resource_quota(quota: &mut Object) {
    if_present(quota, "spec", |spec| round(spec, "hard"));
    if_present(quota, "status", |status| {
        round(status, "hard");
        round(status, "used");
    });
}
