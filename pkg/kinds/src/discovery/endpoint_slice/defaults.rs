//! Defaults of endpoint slices.

use crate::defaults::fill::if_nil;
use crate::defaults::object::Object;

pub(super) fn port(port: &mut Object) {
    if_nil(port, "name", "");
    if_nil(port, "protocol", "TCP");
}
