//! Tests of discovery requests for the built-in groups.
#![allow(clippy::unwrap_used)]

use component_base::features::{Effective, Release};
use http::Request;
use jsontree::{Value, json};

use super::*;

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn discovery() -> Discovery {
    let groups =
        groups_of(&api::catalog::Catalog::builtin(|row| !row.off_by_default), Some(Effective::default()));
    Discovery::new(|| groups, "192.0.2.10:6443".to_owned(), &VersionInfo::of_this_build())
}

fn ask(
    discovery: &Discovery,
    method: &str,
    uri: &str,
    headers: &[(&str, &str)],
) -> Option<Result<Response<Bytes>, Status>> {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    discovery.respond(&request.body(()).unwrap().into_parts().0)
}

fn get(discovery: &Discovery, uri: &str, headers: &[(&str, &str)]) -> Response<Bytes> {
    ask(discovery, "GET", uri, headers).unwrap().unwrap()
}

fn json_of(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

fn text_of(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

#[test]
fn the_core_root_has_no_api_version() {
    assert_eq!(
        text_of(&get(&discovery(), "/api", &[])),
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":\
         [{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"192.0.2.10:6443\"}]}\n"
    );
}

#[test]
fn groups_are_sorted_by_priority_after_aggregator() {
    let list = json_of(&get(&discovery(), "/apis/", &[]));
    let names: Vec<&str> =
        list["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    let expected = ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"];
    assert_eq!(names.get(..4), Some(expected.as_slice()));
    assert!(!names.contains(&"internal.apiserver.k8s.io"), "off by default");
    let autoscaling = json_of(&get(&discovery(), "/apis/autoscaling", &[]));
    assert_eq!(
        autoscaling,
        json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "autoscaling",
            "versions": [
                { "groupVersion": "autoscaling/v2", "version": "v2" },
                { "groupVersion": "autoscaling/v1", "version": "v1" },
            ],
            "preferredVersion": { "groupVersion": "autoscaling/v2", "version": "v2" },
        })
    );
}

#[test]
fn resources_are_listed_with_their_subresources() {
    let list = json_of(&get(&discovery(), "/api/v1", &[]));
    assert_eq!((&list["apiVersion"], &list["groupVersion"]), (&Value::Null, &json!("v1")));
    let find = |name: &str| list["resources"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap();
    assert_eq!(
        find("pods/eviction"),
        &json!({ "name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
                 "version": "v1", "kind": "Eviction", "verbs": ["create"] })
    );
    assert_eq!(
        find("componentstatuses"),
        &json!({ "name": "componentstatuses", "singularName": "componentstatus", "namespaced": false,
                 "kind": "ComponentStatus", "verbs": ["get", "list"], "shortNames": ["cs"] })
    );
    let named = json_of(&get(&discovery(), "/apis/policy/v1/", &[]));
    assert_eq!((&named["apiVersion"], &named["kind"]), (&json!("v1"), &json!("APIResourceList")));
}

#[test]
fn the_aggregated_document_nests_subresources() {
    let discovery = discovery();
    let response = get(&discovery, "/api", &[("accept", V2)]);
    assert_eq!(response.headers()["content-type"], V2);
    let list = json_of(&response);
    assert_eq!((&list["kind"], &list["metadata"]), (&json!("APIGroupDiscoveryList"), &json!({})));
    assert_eq!(list["items"][0]["versions"][0]["freshness"], "Current");
    let resources = list["items"][0]["versions"][0]["resources"].as_array().unwrap();
    let accounts = resources.iter().find(|r| r["resource"] == "serviceaccounts").unwrap();
    assert_eq!(accounts["responseKind"], json!({ "group": "", "version": "", "kind": "ServiceAccount" }));
    assert_eq!(
        accounts["subresources"],
        json!([{ "subresource": "token", "verbs": ["create"],
                 "responseKind": { "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest" } }])
    );
    let groups = json_of(&get(&discovery, "/apis", &[("accept", V2)]));
    assert_eq!(groups["items"].as_array().unwrap().len(), discovery.groups().count() - 1);
}

#[test]
fn beta_document_differs_only_in_its_version() {
    let v2beta1 = V2.replace("=v2", "=v2beta1");
    let discovery = discovery().with_beta(true);
    for path in ["/api", "/apis"] {
        let beta = get(&discovery, path, &[("accept", &v2beta1)]);
        let current = get(&discovery, path, &[("accept", V2)]);
        assert_eq!(beta.headers()["content-type"], v2beta1.as_str());
        assert_eq!(beta.headers()["etag"], current.headers()["etag"]);
        assert_eq!(text_of(&beta).replacen("/v2beta1\"", "/v2\"", 1), text_of(&current));
    }
    let protobuf = v2beta1.replace("json", "vnd.kubernetes.protobuf");
    let beta = get(&discovery, "/api", &[("accept", &protobuf)]);
    assert!(beta.body().starts_with(b"k8s\0\n4\n\x1bapidiscovery.k8s.io/v2beta1"), "{:?}", beta.body());
}

#[test]
fn the_aggregated_document_has_an_entity_tag() {
    let discovery = discovery();
    let first = get(&discovery, "/apis", &[("accept", V2)]);
    let tag = first.headers()["etag"].to_str().unwrap();
    assert_eq!((tag.len(), first.headers()["vary"].as_bytes()), (130, b"Accept".as_slice()));
    assert_eq!(first.headers()["cache-control"], "public");
    let second = get(&discovery, "/apis", &[("accept", V2), ("if-none-match", tag)]);
    assert_eq!((second.status(), second.body().len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(second.headers()["etag"], tag);
    let stale = get(&discovery, "/apis", &[("accept", V2), ("if-none-match", "\"X\"")]);
    assert_eq!((stale.status(), stale.body()), (StatusCode::OK, first.body()));
}

#[test]
fn etag_excludes_type_metadata() {
    let response = get(&discovery(), "/apis", &[("accept", V2)]);
    let kind = "\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",";
    let bare = text_of(&response).trim_end().replacen(kind, "", 1);
    assert!(bare.starts_with("{\"metadata\":{},\"items\":[{"));
    let digest = <sha2::Sha512 as sha2::Digest>::digest(&bare);
    let digest: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(response.headers()["etag"], format!("\"{digest}\""));
}

#[test]
fn documents_come_as_yaml() {
    let discovery = discovery();
    let yaml = get(&discovery, "/apis/policy", &[("accept", "application/yaml")]);
    assert_eq!(yaml.headers()["content-type"], "application/yaml");
    assert_eq!(
        text_of(&yaml),
        "apiVersion: v1\nkind: APIGroup\nname: policy\npreferredVersion:\n  groupVersion: policy/v1\n  version: v1\n\
         versions:\n- groupVersion: policy/v1\n  version: v1\n"
    );
    let aggregated = get(&discovery, "/api", &[("accept", &V2.replace("json", "yaml"))]);
    assert_eq!(aggregated.headers()["content-type"], V2.replace("json", "yaml").as_str());
    assert!(text_of(&aggregated).starts_with("apiVersion: apidiscovery.k8s.io/v2\nitems:\n- metadata: {}\n"));
}

#[test]
fn documents_come_as_protobuf_and_indented() {
    let discovery = discovery();
    let protobuf = get(&discovery, "/api", &[("accept", "application/vnd.kubernetes.protobuf")]);
    assert_eq!(
        protobuf.body().as_ref(),
        b"k8s\0\x0a\x0f\x0a\0\x12\x0bAPIVersions\x12\x22\x0a\x02v1\x12\x1c\x0a\x090.0.0.0/0\x12\x0f192.0.2.10:6443\x1a\0\x22\0"
    );
    let compact = get(&discovery, "/apis/apps", &[]);
    let indented = get(&discovery, "/apis/apps?pretty=1", &[]);
    assert!(text_of(&indented).starts_with("{\n  \"kind\": \"APIGroup\",\n  \"apiVersion\": \"v1\","));
    assert_eq!(json_of(&compact), json_of(&indented));
    let curl = get(&discovery, "/apis/apps", &[("user-agent", "curl/8.5.0")]);
    assert_eq!(curl.body(), indented.body());
}

#[test]
fn method_and_media_type_errors_match_upstream() {
    let discovery = discovery();
    let check = |method: &str, uri: &str, accept: &str, expected: Option<(u16, &str)>| {
        let response = ask(&discovery, method, uri, &[("accept", accept)]);
        let actual = response.map(|response| {
            response.map_or_else(|status| (status.code, status.message), |_| (200, String::new()))
        });
        assert_eq!(actual, expected.map(|(code, text)| (code, text.to_owned())), "{method} {uri} {accept}");
    };
    const NO_METHOD: &str = "the server does not allow this method on the requested resource";
    const OBJECTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let router = format!("406: Not Acceptable\n\nAvailable representations: {OBJECTS}");
    let handler = format!("only the following media types are accepted: {OBJECTS}");
    let v2beta1 = V2.replace("=v2", "=v2beta1");
    check("POST", "/api", "*/*", Some((405, NO_METHOD)));
    check("HEAD", "/api/v1", "*/*", Some((405, NO_METHOD)));
    check("DELETE", "/apis/apps/v1", "*/*", Some((405, NO_METHOD)));
    check("POST", "/apis", "*/*", Some((200, "")));
    check("POST", "/apis/apps", "*/*", Some((200, "")));
    check("POST", "/apis/apiregistration.k8s.io", "*/*", Some((405, NO_METHOD)));
    check("GET", "/api", "text/plain", Some((406, &router)));
    check("GET", "/apis/apps/v1", "application/*", Some((406, &router)));
    check("GET", "/apis", "text/plain", Some((406, &handler)));
    check("GET", "/api", &v2beta1, Some((406, &handler)));
    check("GET", "/apis", &v2beta1, Some((406, &handler)));
    check("GET", "/apis/apps", V2, Some((406, &handler)));
    check("GET", "/apis/apps", &format!("{V2},application/json"), Some((200, "")));
    check(
        "GET",
        "/version",
        "application/yaml",
        Some((406, "406: Not Acceptable\n\nAvailable representations: application/json")),
    );
    check("PUT", "/version", "*/*", Some((405, NO_METHOD)));
    check("GET", "/version/", "*/*", Some((200, "")));
    const NOT_FOUND: &str = "the server could not find the requested resource";
    for absent in ["/version/x", "/version/x/y/z", "/apis/apps/v9", "/api/v2"] {
        check("GET", absent, "*/*", Some((404, NOT_FOUND)));
    }
    for unknown in
        ["/apis/nope", "/apis/nope/v1", "/apis/apps/v1/x", "/api/v1/pods", "/apis//v1", "/", "/openapi/v2"]
    {
        check("GET", unknown, "*/*", None);
    }
}

#[test]
fn version_is_this_release() {
    let version = json_of(&get(&discovery(), "/version", &[]));
    let minor = Release::THIS.minor.to_string();
    assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!(minor)));
    assert_eq!(version.as_object().unwrap().len(), 13);
}

#[test]
fn custom_and_proxied_versions_are_listed() {
    let widget = ApiResource {
        name: "widgets".into(),
        singular: "widget".into(),
        namespaced: true,
        kind_group_version: None,
        kind: "Widget".into(),
        verbs: ["get", "list"].as_slice().to_vec().into(),
        short_names: vec!["wi".into()],
        categories: Vec::new(),
        storage_version_hash: "".into(),
    };
    let version = |name: &'static str, source| Version {
        name: name.into(),
        source,
        discovery: json!({"resources": [{"resource": "gadgets"}]}).as_object().cloned().map(Into::into),
        resources: vec![widget.clone()],
    };
    let mut groups =
        groups_of(&api::catalog::Catalog::builtin(|row| !row.off_by_default), Some(Effective::default()));
    groups.push(Group {
        name: "example.com".into(),
        priority: 1000,
        versions: vec![version("v1", Source::Custom), version("v1beta1", Source::Proxied { stale: true })],
    });
    let discovery = Discovery::new(|| groups, String::new(), &VersionInfo::of_this_build());
    assert_eq!(discovery.groups().last().unwrap().name, "example.com");
    assert!(ask(&discovery, "GET", "/apis/example.com/v1beta1", &[]).is_none(), "the other server answers");
    assert!(ask(&discovery, "GET", "/apis/example.com/v9", &[]).is_none(), "no router either");
    assert!(ask(&discovery, "PUT", "/apis/example.com/v1", &[]).unwrap().is_ok(), "no router in between");
    let list = json_of(&get(&discovery, "/apis", &[("accept", V2)]));
    let of_group = list["items"].as_array().unwrap().last().unwrap()["versions"].as_array().unwrap();
    let versions: Vec<&Value> = of_group.iter().collect();
    let kind = &versions[0]["resources"][0]["responseKind"];
    assert_eq!(kind, &json!({ "group": "example.com", "version": "v1", "kind": "Widget" }));
    assert_eq!(versions[1]["resources"][0]["resource"], "gadgets", "as the other server says");
    let freshness: Vec<&Value> = versions.iter().map(|version| &version["freshness"]).collect();
    assert_eq!(freshness, ["Current", "Stale"]);
}

#[test]
fn custom_status_precedes_scale() {
    let subresources = json!({
        "status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    });
    let spec = json!({
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources}],
    });
    let catalog = api::catalog::Catalog::default().with_group(crate::testing::custom_group(&[spec]));
    let discovery = Discovery::new(
        move || groups_of(&catalog, Some(Effective::default())),
        String::new(),
        &VersionInfo::of_this_build(),
    );
    let list = json_of(&get(&discovery, "/apis/example.com/v1", &[]));
    let names: Vec<_> =
        list["resources"].as_array().unwrap().iter().map(|resource| &resource["name"]).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    let all = json_of(&get(&discovery, "/apis", &[("accept", V2)]));
    let resource = &all["items"][0]["versions"][0]["resources"][0];
    let names: Vec<_> =
        resource["subresources"].as_array().unwrap().iter().map(|sub| &sub["subresource"]).collect();
    assert_eq!(names, ["status", "scale"]);
}

#[test]
fn gate_removes_storage_version_hashes() {
    let catalog = api::catalog::Catalog::builtin(|row| !row.off_by_default);
    let hashed = |releases| {
        let groups = groups_of(&catalog, releases);
        let resources =
            groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
        resources.filter(|resource| !resource.storage_version_hash.is_empty()).count()
    };
    assert!(hashed(Some(Effective::default())) > 50);
    assert_eq!(hashed(None), 0);
}
