//! Warnings about workloads: names that do not fit into a host name, and the pod template
//! (`pkg/registry/{apps,batch,core}`).

use crate::warnings::collector::Warnings;
use crate::warnings::common::{generation_changed, name};
use crate::warnings::pod;
use apimachinery::field::Path;
use apimachinery::names::is_dns1123_label;
use schema::object::{Object, get_object};

/// Warns about the name of a workload, which is the prefix of its pods' names.
pub(crate) fn pod_name_prefix(object: &Object, out: &mut Warnings) {
    label_name(object, "Pod names and hostnames", out);
}

pub(crate) fn label_name(object: &Object, place: &str, out: &mut Warnings) {
    let messages = is_dns1123_label(name(object));
    if !messages.is_empty() {
        out.add(format_args!(
            "metadata.name: this is used in {place}, which can result in surprising behavior; a DNS label \
             is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

/// Warns about the template of any workload except a `CronJob`.
pub(crate) fn template(object: &Object, out: &mut Warnings) {
    let Some(template) = get_object(object, &["spec", "template"]) else { return };
    pod::template(&Path::root("spec.template"), template, out);
}

pub(crate) fn named_template(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    template(object, out);
}

pub(crate) fn template_update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        template(new, out);
    }
}
