//! Source of a kubelet's configuration. The feature was removed, but its fields are still validated.

use crate::validation::go_value::go_value;
use crate::validation::value::{dns_label, dns_subdomain, invalid_each};
use api::tree::{child, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::IO_K8S_API_CORE_V1_NODECONFIGSOURCE as NODE_CONFIG_SOURCE;
use schema::object::Object;

/// Validates the configuration sources in the status.
pub(super) fn config_status(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    for member in ["assigned", "active", "lastKnownGood"] {
        if let Some(source) = child(status, member) {
            config_source(&path.child(member), source, true, errors);
        }
    }
}

/// Validates a source. A source in the status must identify its object exactly.
pub(super) fn config_source(path: &Path<'_>, source: &Object, in_status: bool, errors: &mut ErrorList) {
    let Some(map) = child(source, "configMap") else {
        let value = go_value(&NODE_CONFIG_SOURCE, source);
        errors.push(Error::invalid(path, value, "exactly one reference subfield must be non-nil"));
        return;
    };
    let path = path.child("configMap");
    for member in ["uid", "resourceVersion"] {
        match (in_status, text(map, member)) {
            (true, "") => errors.push(Error::required(&path.child(member), "")),
            (true, _) | (false, "") => {}
            (false, _) => {
                let detail = format!("{member} must not be set in spec");
                errors.push(Error::forbidden(&path.child(member), detail));
            }
        }
    }
    match text(map, "namespace") {
        "" => errors.push(Error::required(&path.child("namespace"), "")),
        namespace => dns_label(&path.child("namespace"), namespace, errors),
    }
    match text(map, "name") {
        "" => errors.push(Error::required(&path.child("name"), "")),
        name => dns_subdomain(&path.child("name"), name, errors),
    }
    let key = text(map, "kubeletConfigKey");
    let path = path.child("kubeletConfigKey");
    match key {
        "" => errors.push(Error::required(&path, "")),
        key => invalid_each(&path, key, names::is_config_map_key(key), errors),
    }
}
