//! Parses discovery documents of other servers into the form of aggregated discovery.

use api::tree::{child, children, children_mut, flag, text, texts};
use jsontree::{Value, json};
use schema::builtin::{
    IO_K8S_API_APIDISCOVERY_V2_APIGROUPDISCOVERYLIST as AGGREGATED,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIRESOURCELIST as RESOURCES,
};
use schema::json::{Error, decode_within};
use schema::memory::DecodeBudget;
use schema::object::Object;
use schema::table::Message;

/// True if a media type is that of an aggregated document.
pub(super) fn is_aggregated(media_type: &str) -> bool {
    let mut parameters = media_type.split(';').map(str::trim).skip(1);
    let has_parameter = |parameter: &str| media_type.split(';').any(|part| part.trim() == parameter);
    parameters.any(|part| part == "as=APIGroupDiscoveryList")
        && has_parameter("g=apidiscovery.k8s.io")
        && (has_parameter("v=v2") || has_parameter("v=v2beta1"))
}

/// Returns a version of an aggregated document; empty if the version is missing.
///
/// # Errors
/// The document is invalid.
pub(super) fn version_of(document: &[u8], group: &str, version: &str) -> Result<Object, Error> {
    let list = decoded(&AGGREGATED, document)?;
    let mut groups = children(&list, "items");
    let name =
        |group: &Object| child(group, "metadata").map_or("", |metadata| text(metadata, "name")).to_owned();
    let entry = groups.find(|entry| name(entry) == group);
    let entry =
        entry.and_then(|group| children(group, "versions").find(|entry| text(entry, "version") == version));
    let mut version_entry = entry.cloned().unwrap_or_default();
    for resource in children_mut(&mut version_entry, "resources") {
        fill_kind(resource);
        children_mut(resource, "subresources").for_each(fill_kind);
    }
    Ok(version_entry)
}

/// Older clients fail if `responseKind` is missing.
fn fill_kind(resource: &mut Object) {
    resource.entry("responseKind").or_insert_with(|| kind("", "", ""));
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

fn decoded(message: &'static Message, document: &[u8]) -> Result<Object, Error> {
    let decoded = decode_within(message, document, DecodeBudget::of_body(document.len()));
    Ok(decoded?.object)
}

/// Converts the unaggregated document of a version (`APIResourceList`).
///
/// # Errors
/// The document is invalid.
pub(super) fn version_of_list(document: &[u8]) -> Result<Object, Error> {
    let list = decoded(&RESOURCES, document)?;
    let mut resources: Vec<Value> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for entry in children(&list, "resources").filter(|entry| !text(entry, "name").contains('/')) {
        places.insert(text(entry, "name"), resources.len());
        resources.push(resource(entry));
    }
    for entry in children(&list, "resources") {
        let Some((main, name)) = text(entry, "name").split_once('/') else { continue };
        let place = *places.entry(main).or_insert_with(|| {
            resources.push(json!({
                "resource": main, "scope": scope(entry), "responseKind": kind("", "", ""),
            }));
            resources.len() - 1
        });
        let subresource = json!({
            "subresource": name, "responseKind": own_kind(entry), "verbs": texts(entry, "verbs").collect::<Vec<_>>(),
        });
        let slot = resources.get_mut(place).and_then(Value::as_object_mut);
        let slot = slot.map(|resource| resource.entry("subresources").or_insert_with(|| json!([])));
        if let Some(Value::Array(all)) = slot {
            all.push(subresource);
        }
    }
    let mut version = Object::new();
    version.insert("resources", resources.into());
    Ok(version)
}

fn scope(entry: &Object) -> &'static str {
    if flag(entry, "namespaced") { "Namespaced" } else { "Cluster" }
}

fn own_kind(entry: &Object) -> Value {
    kind(text(entry, "group"), text(entry, "version"), text(entry, "kind"))
}

fn resource(entry: &Object) -> Value {
    let all = |name| texts(entry, name).collect::<Vec<_>>();
    json!({
        "resource": text(entry, "name"),
        "responseKind": own_kind(entry),
        "scope": scope(entry),
        "singularResource": text(entry, "singularName"),
        "verbs": all("verbs"),
        "shortNames": all("shortNames"),
        "categories": all("categories"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn media_type_marks_aggregated_document() {
        let check = |media_type: &str, expected: bool| {
            assert_eq!(is_aggregated(media_type), expected, "{media_type}")
        };
        check("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", true);
        check("application/json; g=apidiscovery.k8s.io; v=v2beta1; as=APIGroupDiscoveryList", true);
        check("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", false);
        check("application/json", false);
    }

    #[test]
    fn one_version_is_taken_from_aggregated_document() {
        let document = json!({"items": [
            {"metadata": {"name": "other.com"}, "versions": [{"version": "v1"}]},
            {"metadata": {"name": "example.com"}, "versions": [
                {"version": "v1", "resources": [{"resource": "things", "subresources": [{"subresource": "status"}]}]},
            ]},
        ]});
        let converted = version_of(document.to_string().as_bytes(), "example.com", "v1").unwrap();
        let converted = Value::Object(converted);
        assert_eq!(converted.pointer("/resources/0/resource"), Some(&json!("things")));
        let none = json!({"group": "", "version": "", "kind": ""});
        assert_eq!(converted.pointer("/resources/0/responseKind"), Some(&none));
        assert_eq!(converted.pointer("/resources/0/subresources/0/responseKind"), Some(&none));
        assert!(version_of(document.to_string().as_bytes(), "example.com", "v2").unwrap().is_empty());
        assert!(version_of(b"[]", "example.com", "v1").is_err());
    }

    #[test]
    fn legacy_document_is_converted() {
        let document = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "e.com/v1", "resources": [
            {"name": "things/status", "namespaced": true, "kind": "Thing", "verbs": ["get"]},
            {"name": "things", "singularName": "thing", "namespaced": true, "kind": "Thing", "verbs": ["list"]},
            {"name": "orphans/scale", "singularName": "", "namespaced": false, "kind": "Scale", "verbs": ["get"]},
        ]});
        let converted = Value::Object(version_of_list(document.to_string().as_bytes()).unwrap());
        assert_eq!(converted.pointer("/resources/0/scope"), Some(&json!("Namespaced")));
        assert_eq!(converted.pointer("/resources/0/subresources/0/subresource"), Some(&json!("status")));
        assert_eq!(converted.pointer("/resources/1/resource"), Some(&json!("orphans")));
        assert_eq!(converted.pointer("/resources/1/subresources/0/verbs/0"), Some(&json!("get")));
    }
}
