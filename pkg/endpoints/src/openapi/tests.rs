//! Compares the documents with those of the Kubernetes release that the program follows, and tests how they
//! are served.
//!
//! `testdata/openapi-v3.json.gz` contains the documents of a server: schemas without descriptions, operations
//! reduced to their facts. `testdata/openapi-digests.txt` contains digests of the documents that upstream
//! publishes. `tools/openapi-diff.py` creates and explains the digests, and shows the differences to this
//! server's documents.
#![allow(clippy::unwrap_used)]

mod custom;

use std::collections::BTreeMap;
use std::io::Read;

use api::catalog::{Document, ProxiedApiService, ProxiedVersion};
use api::resources::Resource;
use component_base::clock::TestClock;
use component_base::features::{Gate, Gates, Release};
use flate2::read::GzDecoder;
use http::Request;
use jsontree::{Object, Value, json};

use super::*;

fn recorded(case: &str) -> Object {
    let mut text = String::new();
    let packed = include_bytes!("../../testdata/openapi-v3.json.gz");
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    all[case].as_object().unwrap().clone()
}

/// Clock at 2025-10-21T07:28:00Z.
fn clock() -> Arc<TestClock> {
    Arc::new(TestClock::at(UnixTime::from_seconds(1_761_031_680)))
}

fn open_api(off_by_default: bool) -> OpenApi {
    OpenApi::new(Arc::new(builtin(off_by_default)), clock())
}

fn is_of_this_release(row: &Resource<'_>) -> bool {
    row.lifecycle.is_of(Release::THIS)
}

fn builtin(off_by_default: bool) -> Catalog {
    Catalog::builtin(|row| is_of_this_release(row) && row.off_by_default == off_by_default)
}

#[test]
fn documents_contain_emulated_version() {
    let catalog = builtin(false).of_release(Release::minor_of_1(33));
    let api = OpenApi::new(Arc::new(catalog), clock());
    for uri in ["/openapi/v2", "/openapi/v3/api/v1"] {
        assert_eq!(body(&get(&api, uri, &[]).unwrap())["info"]["version"], "1.33", "{uri}");
    }
}

fn get(api: &OpenApi, uri: &str, headers: &[(&str, &str)]) -> Option<Response<Bytes>> {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    api.respond(&parts)
}

fn body(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

fn header<'r>(response: &'r Response<Bytes>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Reduces a document to the form of the recorded ones.
fn reduced(document: &Value) -> Value {
    let document = &undescribed(document);
    let paths = document["paths"].as_object().unwrap().iter();
    let item = |item: &Value| {
        let members = item.as_object().unwrap().iter();
        let fact = |(name, value): (&jsontree::Key, &Value)| match name.as_str() {
            "parameters" => (name.clone(), parameters(value)),
            _ => (name.clone(), operation(value)),
        };
        Value::Object(members.map(fact).collect())
    };
    let paths: Object = paths.map(|(path, value)| (path.clone(), item(value))).collect();
    let schemas = document["components"].get("schemas").cloned().unwrap_or_else(|| json!({}));
    json!({ "schemas": schemas, "paths": paths })
}

/// Copies a value without descriptions. A property may also be named `description`, but it is not a string.
fn undescribed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let retained =
                members.iter().filter(|(name, value)| *name != "description" || !value.is_string());
            Value::Object(retained.map(|(name, value)| (name.clone(), undescribed(value))).collect())
        }
        Value::Array(elements) => elements.iter().map(undescribed).collect(),
        other => other.clone(),
    }
}

fn parameters(list: &Value) -> Value {
    let flattened = |parameter: &Value| {
        let mut parameter = parameter.as_object().unwrap().clone();
        let schema = parameter.remove("schema").unwrap();
        parameter.extend(schema.as_object().unwrap().clone());
        Value::Object(parameter)
    };
    list.as_array().unwrap().iter().map(flattened).collect()
}

fn operation(operation: &Value) -> Value {
    let mut facts = Object::new();
    let mut fact =
        |name: &str, value: Option<Value>| facts.extend(value.map(|value| (name.to_owned(), value)));
    fact("operationId", operation.get("operationId").cloned());
    fact("tags", operation.get("tags").cloned());
    fact("action", operation.get("x-kubernetes-action").cloned());
    let kind = operation.get("x-kubernetes-group-version-kind");
    fact("gvk", kind.map(|kind| json!([kind["group"], kind["version"], kind["kind"]])));
    fact("parameters", operation.get("parameters").map(parameters));
    fact("body", operation.get("requestBody").map(|body| content(&body["content"])));
    fact("bodyRequired", operation["requestBody"].get("required").cloned());
    let responses = operation["responses"].as_object().unwrap().iter();
    let responses: Object =
        responses.map(|(code, r)| (code.clone(), r.get("content").map_or(Value::Null, content))).collect();
    fact("responses", Some(responses.into()));
    Value::Object(facts)
}

/// Media types by schema. All media types of a response have the same schema.
fn content(content: &Value) -> Value {
    let media_types = content.as_object().unwrap();
    let schema = &media_types.values().next().unwrap()["schema"];
    assert!(media_types.values().all(|media_type| &media_type["schema"] == schema));
    let schema = schema.get("$ref").unwrap_or(schema);
    json!([[schema, media_types.keys().collect::<Vec<_>>()]])
}

/// Keys with different values in two objects.
fn differing<'v>(expected: &'v Value, actual: &'v Value) -> Vec<&'v str> {
    let expected = expected.as_object().unwrap();
    let actual = actual.as_object().unwrap();
    let mut names: Vec<&str> = expected.keys().chain(actual.keys()).map(jsontree::Key::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| expected.get(*name) != actual.get(*name));
    names
}

fn check_documents(case: &str, api: &OpenApi) {
    let mut compared = 0;
    for (path, expected) in recorded(case) {
        let actual = reduced(&body(&get(api, &format!("/openapi/v3/{path}"), &[]).unwrap()));
        let schemas = differing(&expected["schemas"], &actual["schemas"]);
        let unknown: Vec<_> = schemas;
        assert_eq!(unknown, Vec::<&str>::new(), "{path}");
        assert_eq!(differing(&expected["paths"], &actual["paths"]), Vec::<&str>::new(), "{path}");
        compared += 1;
    }
    assert!(compared > 10, "{case}: {compared}");
}

#[test]
fn documents_match_upstream() {
    check_documents("onByDefault", &open_api(false));
}

/// Removes the parts that a server adds to the published document.
fn as_published(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(as_published);
            members.retain(|name, value| !(name == "enum" && value.is_array()));
            if let Some(Value::String(text)) = members.get_mut("description") {
                let description = text
                    .split_once("\n\nPossible enum values:\n")
                    .map(|(description, _)| description.trim_end_matches('\n'));
                *text = description.unwrap_or(text).to_owned().into();
            }
            members.retain(|name, value| !(name == "description" && value == ""));
        }
        Value::Array(elements) => elements.iter_mut().for_each(as_published),
        _ => {}
    }
}

#[test]
fn gate_removes_enumerations() {
    let gates = Gates::default().with(Gate::OpenAPIEnums, false);
    let catalog = Catalog::builtin_with_gates(is_of_this_release, &gates);
    let api = OpenApi::new(Arc::new(catalog), clock());
    for path in ["v2", "v3/api/v1"] {
        let text = body(&get(&api, &format!("/openapi/{path}"), &[]).unwrap()).to_string();
        assert!(!text.contains("\"enum\":["), "{path}");
        assert!(!text.contains("Possible enum values"), "{path}");
        assert!(text.contains("Compute Resources required by this container"), "{path}");
    }
}

#[test]
fn documents_equal_published_ones() {
    let api = OpenApi::new(Arc::new(Catalog::builtin(is_of_this_release)), clock());
    let api = api.with_formats(Formats { cbor: true, ..Formats::default() });
    let differs = |path: &str, digest: &str| {
        let mut document = body(&get(&api, &format!("/openapi/{path}"), &[]).unwrap());
        document["info"]["version"] = "unversioned".into();
        as_published(&mut document);
        let actual: String =
            sha2::Sha256::digest(document.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
        actual != digest
    };
    let digests = include_str!("../../testdata/openapi-digests.txt").lines();
    let digests: Vec<_> = digests.map(|line| line.split_once(' ').unwrap()).collect();
    assert!(digests.len() > 60);
    let different: Vec<_> = digests.into_iter().filter(|(path, digest)| differs(path, digest)).collect();
    assert_eq!(different, []);
}

#[test]
fn documents_of_disabled_versions_match_upstream() {
    check_documents("offByDefault", &open_api(true));
}

#[test]
fn the_index_lists_upstreams_documents() {
    let index = body(&get(&open_api(false), "/openapi/v3", &[]).unwrap());
    let actual: Vec<_> = index["paths"].as_object().unwrap().keys().cloned().collect();
    // The index contains the OpenID configuration, but no such document is recorded.
    let mut expected: Vec<_> = recorded("onByDefault").keys().cloned().collect();
    expected.push(".well-known/openid-configuration".into());
    expected.sort();
    assert_eq!(actual, expected);
}

#[test]
fn all_references_resolve() {
    let api = open_api(false);
    let mut documents = vec!["/openapi/v2".to_owned()];
    documents.extend(recorded("onByDefault").keys().map(|path| format!("/openapi/v3/{path}")));
    for path in documents {
        let response = get(&api, &path, &[]).unwrap();
        let text = std::str::from_utf8(response.body()).unwrap();
        let document = body(&response);
        for reference in text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let target = document.pointer(reference.strip_prefix('#').unwrap());
            assert!(target.is_some_and(Value::is_object), "{path}: {reference}");
        }
    }
}

/// Definitions of all OpenAPI 3.0 documents, by name.
fn definitions(off_by_default: bool) -> Object {
    let api = open_api(off_by_default);
    let subjects = Subject::all(&builtin(off_by_default));
    let documents =
        subjects.into_iter().map(|s| get(&api, &format!("/openapi/v3/{}", s.path()), &[]).unwrap());
    let mut all = Object::new();
    for document in documents {
        if let Value::Object(schemas) = body(&document)["components"]["schemas"].take() {
            all.extend(schemas);
        }
    }
    all
}

/// Counts the definitions and members with a description. Also counts those without one, by type.
fn described(definitions: &Object) -> ([usize; 2], BTreeMap<&str, usize>) {
    let mut types = 0;
    let mut members = 0;
    let mut silent = BTreeMap::new();
    for (name, definition) in definitions {
        let kind = name.rsplit('.').next().unwrap();
        let properties = definition["properties"].as_object().into_iter().flatten();
        let properties = properties.map(|(member, schema)| (member.as_str(), schema));
        for (member, schema) in properties.chain([("", definition)]) {
            let upstream = api::descriptions::description(name, member);
            assert_eq!(schema["description"].as_str().unwrap_or_default(), upstream, "{name} {member}");
            match (upstream, member) {
                ("", _) => *silent.entry(kind).or_default() += 1,
                (_, "") => types += 1,
                _ => members += 1,
            }
        }
    }
    ([types, members], silent)
}

/// Except those that have no description upstream.
#[test]
fn descriptions_are_as_complete_as_upstream() {
    let definitions: Object = [true, false].map(definitions).into_iter().flatten().collect();
    let ([types, members], silent) = described(&definitions);
    assert!(types > 550 && members > 2_500, "only {types} and {members}");
    let want = BTreeMap::from([
        ("CertificateSigningRequest", 1),
        ("CertificateSigningRequestList", 1),
        ("ExternalDocumentation", 2),
        ("GroupResource", 2),
        ("Info", 7),
        ("JSONSchemaProps", 35),
        ("MatchCondition", 1),
        ("WatchEvent", 1),
    ]);
    assert_eq!(silent, want);
}

#[test]
fn openapi_3_references_have_no_siblings() {
    fn check(path: &str, value: &Value) {
        if let Some(members) = value.as_object() {
            assert!(
                !members.contains_key("$ref") || path.ends_with("properties") || members.len() == 1,
                "{path}"
            );
            members.iter().for_each(|(name, value)| check(&format!("{path}.{name}"), value));
        }
        value.as_array().into_iter().flatten().for_each(|value| check(path, value));
    }
    let definitions = definitions(false);
    assert!(definitions.len() > 500);
    definitions.iter().for_each(|(name, definition)| check(name, definition));
}

#[test]
fn json_and_protobuf_have_equal_descriptions() {
    let api = open_api(false);
    let check = |uri: &str, schemas: &str, media_type: &str, accept: &str| {
        let json = body(&get(&api, uri, &[]).unwrap());
        let protobuf = get(&api, uri, &[("accept", &format!("application/{accept}"))]).unwrap();
        assert_eq!(header(&protobuf, "content-type"), format!("application/{media_type}"));
        let pod = &json.pointer(schemas).unwrap()["io.k8s.api.core.v1.Pod"];
        for text in [&pod["description"], &pod["properties"]["spec"]["description"]] {
            let text = text.as_str().unwrap().as_bytes();
            assert!(protobuf.body().windows(text.len()).any(|window| window == text), "{uri}");
        }
        let again = get(&api, uri, &[("accept", &format!("application/{accept}"))]).unwrap();
        assert_eq!(again.body(), protobuf.body());
    };
    for accept in PROTOBUF_V2 {
        check("/openapi/v2", "/definitions", PROTOBUF_V2[0], accept);
    }
    for accept in PROTOBUF_V3 {
        check("/openapi/v3/api/v1", "/components/schemas", PROTOBUF_V3[0], accept);
    }
}

#[test]
fn swagger_is_compressed_if_accepted() {
    let api = open_api(false);
    let plain = get(&api, "/openapi/v2", &[]).unwrap();
    let packed = get(&api, "/openapi/v2", &[("accept-encoding", "gzip")]).unwrap();
    assert_eq!((header(&plain, "content-encoding"), header(&packed, "content-encoding")), ("", "gzip"));
    assert_eq!(header(&plain, "etag"), header(&packed, "etag"));
    let mut text = Vec::new();
    GzDecoder::new(&**packed.body()).read_to_end(&mut text).unwrap();
    assert_eq!(plain.body(), &text);
    let version_document = get(&api, "/openapi/v3/version", &[("accept-encoding", "gzip")]).unwrap();
    assert_eq!(header(&version_document, "content-encoding"), "");
}

#[test]
fn operation_ids_are_unique() {
    let swagger = body(&get(&open_api(false), "/openapi/v2", &[]).unwrap());
    let items = swagger["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let mut ids: Vec<_> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert!(all > 800);
    assert_eq!(ids.len(), all);
}

#[test]
fn document_with_hash_never_expires() {
    let api = open_api(false);
    let index = get(&api, "/openapi/v3", &[]).unwrap();
    assert_eq!(header(&index, "content-type"), "text/plain; charset=utf-8");
    let index = body(&index);
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let response = get(&api, url, &[]).unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "cache-control"), "public, immutable");
    assert_eq!(header(&response, "expires"), "Wed, 21 Oct 2026 07:28:00 GMT");
    assert_eq!(header(&response, "content-type"), "application/json");
    assert_eq!(header(&response, "last-modified"), "Tue, 21 Oct 2025 07:28:00 GMT");
    let tag = header(&response, "etag").trim_matches('"');
    assert_eq!(url, format!("/openapi/v3/apis/apps/v1?hash={tag}"));

    let plain = get(&api, "/openapi/v3/apis/apps/v1", &[]).unwrap();
    assert_eq!((header(&plain, "cache-control"), header(&plain, "etag")), ("", header(&response, "etag")));
    let moved = get(&api, "/openapi/v3/apis/apps/v1?hash=OLD", &[]).unwrap();
    assert_eq!((moved.status().as_u16(), header(&moved, "location")), (301, url));
}

#[test]
fn http_dates_have_weekdays() {
    let check = |seconds, expected: &str| assert_eq!(http_date(UnixTime::from_seconds(seconds)), expected);
    check(0, "Thu, 01 Jan 1970 00:00:00 GMT");
    check(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT");
    check(1_792_567_680, "Wed, 21 Oct 2026 07:28:00 GMT");
    check(-1, "Wed, 31 Dec 1969 23:59:59 GMT");
}

#[test]
fn unchanged_document_is_304() {
    let api = open_api(false);
    for uri in ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/policy/v1"] {
        let tag = header(&get(&api, uri, &[]).unwrap(), "etag").to_owned();
        assert_eq!(tag.len(), 130, "{uri}");
        let check = |etag: &str, status: u16| {
            let response = get(&api, uri, &[("if-none-match", etag)]).unwrap();
            assert_eq!(response.status(), status, "{uri} {etag}");
            assert_eq!(header(&response, "etag"), tag, "{uri} {etag}");
            assert_eq!(response.body().is_empty(), status == 304, "{uri} {etag}");
        };
        check(&tag, 304);
        check(&format!("\"x\", W/{tag}"), 304);
        check("*", 304);
        check("\"x\"", 200);
    }
}

#[test]
fn unknown_paths_and_media_types_are_rejected() {
    let api = open_api(false);
    let check = |uri: &str, accept: &str, expected: Option<u16>| {
        let response = get(&api, uri, &[("accept", accept)]);
        assert_eq!(response.map(|r| r.status().as_u16()), expected, "{uri} {accept}");
    };
    check("/openapi/v3/nope", "*/*", Some(404));
    check("/openapi/v3/", "*/*", Some(404));
    check("/openapi/v3/apis/apps/v1/", "*/*", Some(404));
    check("/openapi/v2/", "*/*", None);
    check("/openapi/v4", "*/*", None);
    check("/openapi/v2", "application/yaml", Some(406));
    check("/openapi/v3/version", "application/yaml", Some(406));
    check("/openapi/v3/version", "application/*", Some(200));
}

#[test]
fn aggregated_documents_are_merged() {
    let api = open_api(false);
    let part = json!({
        "paths": {"/apis/example.com/v1/things": {}},
        "definitions": {"io.k8s.api.core.v1.Pod": {"type": "string"}},
        "parameters": {"pretty-0": {}},
    });
    let proxied = ProxiedApiService {
        documents: vec![Document { path: "apis/example.com/v1".to_owned(), json: Bytes::from_static(b"{}") }],
        swagger: Some(part.to_string().into()),
        ..ProxiedApiService::default()
    };
    let version =
        ProxiedVersion { name: "v1".to_owned(), group_priority: 1, priority: 1, proxied: Arc::new(proxied) };
    let with = api.with_catalog(Arc::new(builtin(false).with_proxied("example.com", vec![version])));
    assert_eq!(get(&with, "/openapi/v3/apis/example.com/v1", &[]).unwrap().body(), "{}");
    let index = body(&get(&with, "/openapi/v3", &[]).unwrap());
    assert!(index["paths"]["apis/example.com/v1"]["serverRelativeURL"].is_string());
    let swagger = body(&get(&with, "/openapi/v2", &[]).unwrap());
    assert!(swagger["paths"]["/apis/example.com/v1/things"].is_object());
    assert!(swagger["parameters"]["pretty-0"].is_object());
    assert_eq!(swagger["definitions"]["io.k8s.api.core.v1.Pod_v2"], json!({"type": "string"}));
    assert!(swagger["definitions"]["io.k8s.api.core.v1.Pod"]["properties"].is_object());
}
