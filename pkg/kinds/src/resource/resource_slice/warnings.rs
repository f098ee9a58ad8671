//! Warnings about resource slices.

use crate::warnings::collector::Warnings;
use apimachinery::go_quote::Quoted;
use schema::object::{Object, get_str};

pub(super) fn driver_name(new: &Object, out: &mut Warnings) {
    let driver = get_str(new, &["spec", "driver"]).unwrap_or_default();
    if driver != driver.to_lowercase() {
        out.add(format_args!(
            "spec.driver: driver names should be lowercase; {} contains uppercase characters",
            Quoted(driver)
        ));
    }
}
