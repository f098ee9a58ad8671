//! Tests of the pages, without a router.
#![allow(clippy::unwrap_used)]

use component_base::features::Release;
use http_body_util::BodyExt;

use super::*;
use crate::testing::{NOW, env};

fn headers(accept: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, accept.parse().unwrap());
    headers
}

fn status() -> Statusz {
    let paths = ["/", "/api", "/apis/apps", "/livez", "/livez/ping", "/.well-known/x", "/metrics", "/flagz"];
    Statusz {
        started_seconds: NOW - 3_725,
        version: VersionInfo::of_this_build(),
        paths: paths.map(str::to_owned).to_vec(),
        cbor: false,
        env: env(),
    }
}

#[test]
fn structured_format_must_be_fully_specified() {
    let check = |accept: &str, expected: Option<ResponseFormat>| {
        assert_eq!(requested_format("Flagz", false, &headers(accept)), expected, "{accept}");
    };
    let json = |version| Some(ResponseFormat::Structured { format: Format::Json, version });
    for accept in ["", " ", "*/*", "text/plain", "text/*", "application/xml, */*"] {
        check(accept, Some(ResponseFormat::Text));
    }
    check("application/json;v=v1beta1;g=config.k8s.io;as=Flagz", json("v1beta1"));
    check("application/*;v=v1alpha1;g=config.k8s.io;as=Flagz", json("v1alpha1"));
    let yaml = Some(ResponseFormat::Structured { format: Format::Yaml, version: "v1beta1" });
    check("application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz", yaml);
    check("application/json;v=foo;g=config.k8s.io;as=Flagz,*/*", Some(ResponseFormat::Text));
    let first = "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz";
    check(&format!("{first},application/json;v=v1beta1;g=config.k8s.io;as=Flagz"), json("v1alpha1"));
    for accept in [
        "application/json",
        "application/xml",
        "application/json;v=v1beta1;g=config.k8s.io",
        "application/json;v=v1beta1;g=config.k8s.io;as=Statusz",
        "application/json;v=v1beta1;g=config.k8s.io;as=Flagz;stream=watch",
        "application/vnd.kubernetes.protobuf;v=v1beta1;g=config.k8s.io;as=Flagz",
        "text/plain;as=Flagz",
    ] {
        check(accept, None);
    }
}

#[test]
fn cbor_requires_its_gate() {
    let accept = headers("application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz");
    let cbor = ResponseFormat::Structured { format: Format::Cbor, version: "v1beta1" };
    assert_eq!(
        (requested_format("Flagz", true, &accept), requested_format("Flagz", false, &accept)),
        (Some(cbor), None)
    );
}

#[test]
fn flags_are_listed_by_name() {
    let flags = [("v", "2"), ("etcd-prefix", "/registry")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(flag_lines(&flags, ": "), "etcd-prefix: /registry\nv: 2\n");
}

#[test]
fn status_contains_start_time_and_paths() {
    let version = VersionInfo::of_this_build();
    let expected = format!(
        "\nStarted= Fri Jan 15 06:57:55 UTC 2027\nUp= 1 hr 02 min 05 sec\nGo version= {}\nBinary version= \
         {}\nEmulation version= {}\nPaths= /flagz /livez /metrics\n",
        version.go_version,
        Release::THIS_WITH_PATCH,
        Release::THIS,
    );
    assert_eq!(status().lines("="), expected);
    let object = serde_json::to_string(&Object::of("Statusz", "v1beta1", status().members())).unwrap();
    let expected = format!(
        "{{\"kind\":\"Statusz\",\"apiVersion\":\"config.k8s.io/v1beta1\",\"metadata\":{{\"name\":\"apiserver\"}},\
         \"startTime\":\"2027-01-15T06:57:55Z\",\"uptimeSeconds\":3725,\"goVersion\":\"{}\",\
         \"binaryVersion\":\"{}\",\"emulationVersion\":\"{}\",\
         \"paths\":[\"/flagz\",\"/livez\",\"/metrics\"]}}",
        version.go_version,
        Release::THIS_WITH_PATCH,
        Release::THIS,
    );
    assert_eq!(object, expected);
}

#[test]
fn day_below_ten_is_padded_like_go() {
    assert_eq!(unix_date(UnixTime { seconds: 0, nanos: 0 }), "Thu Jan  1 00:00:00 UTC 1970");
}

#[tokio::test]
async fn an_old_version_warns() {
    let check = async |version: &'static str, warns: bool| {
        let object = Object::of("Statusz", version, status().members());
        let response = structured(object, Format::Json, &RequestContext::default(), &headers("*/*"));
        let media_type = format!("application/json;g=config.k8s.io;v={version};as=Statusz");
        assert_eq!(response.headers()["content-type"].to_str().unwrap(), media_type);
        assert_eq!(response.headers().contains_key("warning"), warns, "{version}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.ends_with(b"}\n"));
    };
    check("v1alpha1", true).await;
    check("v1beta1", false).await;
}

#[tokio::test]
async fn unsupported_format_is_406_with_alternatives() {
    let response = not_acceptable_response(false, &headers("application/json"));
    assert_eq!(response.status(), 406);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: jsontree::Value = serde_json::from_slice(&body).unwrap();
    let message =
        "only the following media types are accepted: application/json, application/yaml, text/plain";
    assert_eq!(status["message"], message);
}
