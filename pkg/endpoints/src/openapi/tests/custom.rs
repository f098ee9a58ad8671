//! Documents of custom resources. `testdata/openapi-custom.json.gz` contains a CRD that uses many features,
//! with the output of upstream's builder.

use super::*;
use crate::testing::custom_group as group;
use api::catalog::Group;

/// Spec of a CRD with one version.
fn spec(group: &str, kind: &str, schema: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "group": group, "scope": "Namespaced",
        "names": {"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")},
        "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        }],
    })
}

fn serving(specs: &[Value]) -> OpenApi {
    OpenApi::new(Arc::new(builtin(false).with_group(group(specs))), clock())
}

fn recorded() -> Value {
    let mut text = String::new();
    let packed = include_bytes!("../../../testdata/openapi-custom.json.gz");
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Collects the paths at which two values differ.
fn differences(path: &str, expected: &Value, actual: &Value, out: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let mut names: Vec<&jsontree::Key> = expected.keys().chain(actual.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let member = |members: &jsontree::Object| members.get(name).cloned().unwrap_or_default();
                differences(&format!("{path}/{name}"), &member(expected), &member(actual), out);
            }
        }
        _ if expected == actual => {}
        _ if expected.as_f64().is_some() && expected.as_f64() == actual.as_f64() => {}
        _ => out.push(format!("{path}: {expected} is {actual}")),
    }
}

/// Compares the documents of a group version with its recorded ones and returns the differences.
fn compared(api: &OpenApi, swagger: &Value, group_version: &str, want: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let uri = format!("/openapi/v3/apis/{group_version}");
    differences("v3", &want["v3"], &body(&get(api, &uri, &[]).unwrap()), &mut out);
    for part in ["paths", "definitions", "parameters"] {
        for (name, want) in want["v2"][part].as_object().unwrap() {
            // The recorded built-in definitions list the kinds of all groups.
            if !(part == "definitions" && name.starts_with("io.k8s.")) {
                differences(&format!("v2/{part}/{name}"), want, &swagger[part][name], &mut out);
            }
        }
    }
    out
}

#[test]
fn custom_documents_match_upstream() {
    let recorded = recorded();
    let api = serving(&[recorded["definition"].clone()]);
    let swagger = body(&get(&api, "/openapi/v2", &[]).unwrap());
    for (version, want) in recorded["documents"].as_object().unwrap() {
        let differences = compared(&api, &swagger, &format!("toys.example.com/{version}"), want);
        assert_eq!(differences, Vec::<String>::new(), "{version}");
    }
}

#[test]
fn crd_without_schema_has_empty_definition() {
    let api = serving(&[spec("toys.example.com", "Widget", &Value::Null)]);
    let document = body(&get(&api, "/openapi/v3/apis/toys.example.com/v1", &[]).unwrap());
    let widget = document["components"]["schemas"]["com.example.toys.v1.Widget"].as_object().unwrap();
    assert_eq!(widget.keys().collect::<Vec<_>>(), ["type", "x-kubernetes-group-version-kind"]);
}

#[test]
fn index_and_swagger_contain_custom_resources() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "description": "<a>"}}});
    let api =
        serving(&[spec("toys.example.com", "Widget", &schema), spec("toys.example.com", "Doll", &schema)]);
    let index = body(&get(&api, "/openapi/v3", &[]).unwrap());
    let url = index["paths"]["apis/toys.example.com/v1"]["serverRelativeURL"].as_str().unwrap();
    assert!(index["paths"].get("apis/toys.example.com").is_none(), "upstream has no document of the group");
    let document = body(&get(&api, url, &[]).unwrap());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(
        ["Doll", "DollList", "Widget"]
            .iter()
            .all(|kind| schemas.contains_key(&format!("com.example.toys.v1.{kind}")))
    );
    let swagger = body(&get(&api, "/openapi/v2", &[]).unwrap());
    let text = swagger.to_string();
    for reference in text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(swagger.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    let widget = &swagger["definitions"]["com.example.toys.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["description"], "<a>");
    assert!(swagger["paths"]["/apis/toys.example.com/v1/namespaces/{namespace}/dolls/{name}"].is_object());
}

#[test]
fn custom_document_is_stable() {
    let api = serving(&[spec("toys.example.com", "Widget", &json!({"type": "object"}))]);
    let uri = "/openapi/v3/apis/toys.example.com/v1";
    let accept = [("accept", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf")];
    let [first, second] = [(); 2].map(|()| get(&api, uri, &[]).unwrap());
    assert!(!first.body().is_empty());
    assert_eq!(first.body(), second.body());
    let [first, second] = [(); 2].map(|()| get(&api, uri, &accept).unwrap());
    assert!(!first.body().is_empty());
    assert_eq!(first.body(), second.body());
}

#[test]
fn new_crd_keeps_documents_of_other_groups() {
    let widgets = spec("toys.example.com", "Widget", &json!({"type": "object"}));
    let catalog = builtin(false).with_group(group(std::slice::from_ref(&widgets)));
    let before = OpenApi::new(Arc::new(catalog.clone()), clock());
    let extended =
        catalog.with_group(group(&[spec("other.example.com", "Doll", &json!({"type": "object"}))]));
    let after = before.with_catalog(Arc::new(extended.clone()));
    let shared = |before: &OpenApi, after: &OpenApi, path: &str| {
        Arc::ptr_eq(before.entry(path).unwrap(), after.entry(path).unwrap())
    };
    assert!(before.documents.iter().all(|entry| shared(&before, &after, &entry.path)));
    assert!(before.entry("apis/other.example.com/v1").is_none());
    assert!(after.entry("apis/other.example.com/v1").is_some());

    let tag = |api: &OpenApi, path: &str| {
        header(&get(api, &format!("/openapi/v3/{path}"), &[]).unwrap(), "etag").to_owned()
    };
    let path = "apis/toys.example.com/v1";
    let old = tag(&after, path);
    let changed = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
    let third = after.with_catalog(Arc::new(extended.with_group(group(&[spec(
        "toys.example.com",
        "Widget",
        &changed,
    )]))));
    assert!(!shared(&after, &third, path));
    assert_ne!(tag(&third, path), old);
    assert!(shared(&after, &third, "apis/other.example.com/v1") && shared(&after, &third, "apis/apps/v1"));
    let without = Group { versions: Vec::new(), ..group(&[widgets]) };
    let last = third.with_catalog(Arc::new(extended.with_group(without)));
    assert!(last.entry(path).is_none());
}
