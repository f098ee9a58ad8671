//! Defaults of CRDs by version.

use crate::admissionregistration::defaults::service_reference;
use crate::defaults::fill::{default_struct, if_nil, if_present, if_zero, is_zero, text};
use crate::defaults::object::Object;
use api::tree::{self, child, children, flag};
use jsontree::json;
use schema::object::{self, Object as Tree, get_list};

pub(super) fn definition(definition: &mut Object) {
    default_struct(definition, "spec", |spec| {
        default_struct(spec, "names", names);
        if_nil(spec, "conversion", json!({"strategy": "None"}));
        if_present(spec, "conversion", |conversion| {
            if_present(conversion, "webhook", |webhook| {
                if_present(webhook, "clientConfig", service_reference)
            });
        });
    });
    definition.decoded(stored_versions);
}

pub(super) fn definition_v1beta1(definition: &mut Object) {
    default_struct(definition, "spec", |spec| {
        if_zero(spec, "scope", "Namespaced");
        default_struct(spec, "names", names);
        spec.decoded(only_version);
        if_nil(spec, "conversion", json!({"strategy": "None"}));
        if_present(spec, "conversion", |conversion| {
            if text(conversion, "strategy") == "Webhook" && is_zero(conversion, "conversionReviewVersions") {
                conversion.set("conversionReviewVersions", json!(["v1beta1"]));
            }
            if_present(conversion, "webhookClientConfig", service_reference);
        });
        if_nil(spec, "preserveUnknownFields", true);
    });
    definition.decoded(stored_versions);
}

/// Derives the names from the kind.
fn names(names: &mut Object) {
    let kind = text(names, "kind").to_owned();
    if !kind.is_empty() {
        if_zero(names, "singular", kind.to_lowercase());
        if_zero(names, "listKind", kind + "List");
    }
}

/// Old definitions have a single version, newer ones a list of versions. Each is filled in from the other.
fn only_version(spec: &mut Tree) {
    let first = children(spec, "versions").next().map(|version| tree::text(version, "name").to_owned());
    let version = tree::text(spec, "version").to_owned();
    match (version.as_str(), first) {
        ("", Some(first)) if !first.is_empty() => _ = spec.insert("version", first.into()),
        ("", _) | (_, Some(_)) => {}
        (version, None) => {
            let versions = json!([{"name": version, "storage": true, "served": true}]);
            spec.insert("versions", versions);
        }
    }
}

/// Sets the stored versions of a new definition to its storage version.
fn stored_versions(definition: &mut Tree) {
    let Some(spec) = child(definition, "spec") else { return };
    let Some(version) = children(spec, "versions").find(|version| flag(version, "storage")) else { return };
    let name = json!([tree::text(version, "name")]);
    if get_list(definition, &["status", "storedVersions"]).is_empty() {
        object::set(definition, &["status", "storedVersions"], name);
    }
}
