//! Warnings about pod templates.

use crate::warnings::collector::Warnings;
use crate::warnings::common::generation_changed;
use crate::warnings::pod;
use api::tree::child;
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        create(new, out);
    }
}

pub(super) fn create(object: &Object, out: &mut Warnings) {
    let Some(template) = child(object, "template") else { return };
    pod::template(&Path::root("template"), template, out);
}
