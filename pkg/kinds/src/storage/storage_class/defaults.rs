//! Defaults of storage classes.

use crate::defaults::fill::if_nil;
use crate::defaults::object::Object;

pub(super) fn storage_class(class: &mut Object) {
    if_nil(class, "reclaimPolicy", "Delete");
    if_nil(class, "volumeBindingMode", "Immediate");
}
