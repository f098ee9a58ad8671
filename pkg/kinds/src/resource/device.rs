//! Resource claims, claim templates and device classes (KEP-4381).

mod capacity;
mod claim;
mod configuration;
mod derived_attributes;
mod duplicates;
mod node_allocatable;
mod offered_device;
mod partition_type;
mod skipped_operations;
mod slice;
mod status;
mod taint_rule;
mod toleration;

use self::claim::device_claim;
use self::configuration::{compiler, configuration, selectors};
pub(crate) use self::slice::RULES as SLICES;
use self::status::status;
pub(crate) use self::taint_rule::RULES as TAINT_RULES;
use crate::validation::NameRule;
use crate::validation::claim_spec::template_metadata;
use crate::validation::immutable::immutable;
use crate::validation::resource_name::is_extended;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use api::tree::{child, children, list, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::{
    IO_K8S_API_RESOURCE_V1_RESOURCECLAIM as CLAIM, IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE as TEMPLATE,
};
use schema::object::Object;

pub(crate) const CLAIMS: ContextRules = ContextRules { create: claim, update: claim_update };
pub(crate) const TEMPLATES: ContextRules = ContextRules { create: template, update: template_update };
pub(crate) const CLASSES: ContextRules =
    ContextRules { create: |new, given| class(new, None, given), update: class_update };

/// Limit of requests, constraints, configurations or selectors in one object.
const ITEMS_MAX: usize = 32;

fn claim(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let devices = child(new, "spec").and_then(|spec| child(spec, "devices"));
    device_claim(&Path::root("spec.devices"), devices.unwrap_or(&empty), context, &mut errors);
    errors
}

fn claim_update(subresource: &str, new: &Object, old: &Object, _: &ValidationContext) -> ErrorList {
    if subresource == "status" {
        let mut errors = metadata_update(new, old);
        status(new, old, &mut errors);
        return errors;
    }
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    errors.append(metadata_update(new, old));
    immutable(&Path::root("spec"), &CLAIM, "spec", new, old, &mut errors);
    errors
}

fn template(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    template_metadata(&path.child("metadata"), child(spec, "metadata").unwrap_or(&empty), &mut errors);
    let devices = child(spec, "spec").and_then(|spec| child(spec, "devices"));
    device_claim(&path.child("spec.devices"), devices.unwrap_or(&empty), context, &mut errors);
    errors
}

fn template_update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = template(new, context);
    errors.append(metadata_update(new, old));
    immutable(&Path::root("spec"), &TEMPLATE, "spec", new, old, &mut errors);
    errors
}

fn class(new: &Object, old: Option<&Object>, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::LongName);
    if let Some(old) = old {
        errors.append(metadata_update(new, old));
    }
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = old.and_then(|old| child(old, "spec"));
    let unchanged = old_spec.is_some_and(|old| list(old, "selectors") == list(spec, "selectors"));
    let compiler = (!unchanged).then(|| compiler(context));
    selectors(&path.child("selectors"), spec, compiler.as_ref(), &mut errors);
    // Existing configurations may be too long.
    let stored = old_spec.is_some_and(|old| list(old, "config") == list(spec, "config"));
    let config_path = path.child("config");
    if at_most(&config_path, list(spec, "config").len(), ITEMS_MAX, &mut errors) {
        for (index, config) in children(spec, "config").enumerate() {
            configuration(&config_path.index(index), config, stored, &mut errors);
        }
    }
    if let Some(name) = maybe_text(spec, "extendedResourceName").filter(|name| !is_extended(name)) {
        let detail = "must be a valid extended resource name";
        errors.push(Error::invalid(&path.child("extendedResourceName"), name, detail));
    }
    errors
}

fn class_update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    class(new, Some(old), context)
}

/// Reports a list that is too long. Returns true if the length is valid.
fn at_most(path: &Path<'_>, count: usize, max: usize, errors: &mut ErrorList) -> bool {
    if count > max {
        errors.push(Error::too_many(path, Some(count), Some(max)));
    }
    count <= max
}

#[cfg(test)]
mod given_tests;
#[cfg(test)]
mod tests;
