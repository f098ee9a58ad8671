//! Encodings of events.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::*;

pub(crate) fn event() -> Event {
    let user = UserInfo {
        name: "ann".to_owned(),
        uid: "u".to_owned(),
        groups: vec!["dev".to_owned(), "ops".to_owned()],
        extra: BTreeMap::from([("k".to_owned(), vec!["v".to_owned()])]),
    };
    let info = RequestInfo {
        is_resource: true,
        resource: "pods".to_owned(),
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        version: "v1".to_owned(),
        ..RequestInfo::default()
    };
    let addresses = ["10.0.0.1", "::1"].map(|address| address.parse().unwrap());
    Event {
        level: Level::Metadata,
        audit_id: AuditId::new(b"id"),
        stage: Stage::RequestReceived,
        request_record: asked(Some(&user), &addresses, "kubectl/v1.36"),
        object: Some(about(info)),
        response_status: None,
        request_object: None,
        response_object: None,
        received: UnixTime { seconds: 1_700_000_000, nanos: 120_000_000 },
        stage_time: UnixTime { seconds: 1_700_000_000, nanos: 123_456_789 },
        annotations: Vec::new(),
    }
}

fn asked(user: Option<&UserInfo>, addresses: &[IpAddr], user_agent: &str) -> RequestRecord {
    let uri = "/api/v1/namespaces/ns/pods/a?x=<y>";
    RequestRecord::new(uri, "get", user, addresses.iter().copied(), user_agent)
}

fn about(info: RequestInfo) -> ObjectReference {
    let request = RequestContext { info, ..RequestContext::default() };
    ObjectReference { request: Arc::new(request), body_meta: None }
}

fn json(event: &Event) -> String {
    let mut out = Vec::new();
    event.write_json(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn json_matches_go() {
    let expected = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id","#
        .to_owned()
        + r#""stage":"RequestReceived","requestURI":"/api/v1/namespaces/ns/pods/a?x=\u003cy\u003e","verb":"get","#
        + r#""user":{"username":"ann","uid":"u","groups":["dev","ops"],"extra":{"k":["v"]}},"#
        + r#""sourceIPs":["10.0.0.1","::1"],"userAgent":"kubectl/v1.36","#
        + r#""objectRef":{"resource":"pods","namespace":"ns","name":"a","apiVersion":"v1"},"#
        + r#""requestReceivedTimestamp":"2023-11-14T22:13:20.120000Z","#
        + r#""stageTimestamp":"2023-11-14T22:13:20.123456Z"}"#
        + "\n";
    assert_eq!(json(&event()), expected);
}

#[test]
fn all_members_are_encoded() {
    let info = RequestInfo {
        is_resource: true,
        resource: "deployments".to_owned(),
        namespace: "ns".to_owned(),
        group: "apps".to_owned(),
        version: "v1".to_owned(),
        subresource: "scale".to_owned(),
        ..RequestInfo::default()
    };
    let body_meta = BodyObjectMeta {
        namespace: "other".to_owned(),
        name: "a".to_owned(),
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
    };
    let mut event = Event {
        level: Level::RequestResponse,
        stage: Stage::ResponseComplete,
        request_record: asked(None, &[], ""),
        object: Some(ObjectReference { body_meta: Some(Box::new(body_meta)), ..about(info) }),
        response_status: Some(ResponseStatus {
            status: "Failure".to_owned(),
            message: "no".to_owned(),
            reason: "NotFound".to_owned(),
            details: Content::json(br#"{ "name": "a" }"#),
            code: 404,
        }),
        request_object: Content::json(b"{\"a\": [1, \"<\"]}\n"),
        response_object: Content::json(b"{}"),
        ..event()
    };
    let bob = UserInfo { name: "bob".to_owned(), ..UserInfo::default() };
    event.request_record.impersonated(&bob, "impersonate:user-info");
    event.annotate("b", "2");
    event.annotate("a", "1");
    event.annotate("b", "3");
    let text = json(&event);
    let (_, rest) = text.split_once("\"verb\":").unwrap();
    let expected = r#""get","user":{},"impersonatedUser":{"username":"bob"},"#.to_owned()
        + r#""authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},"#
        + r#""objectRef":{"resource":"deployments","namespace":"ns","name":"a","uid":"u","apiGroup":"apps","#
        + r#""apiVersion":"v1","resourceVersion":"7","subresource":"scale"},"#
        + r#""responseStatus":{"metadata":{},"status":"Failure","message":"no","reason":"NotFound","#
        + r#""details":{"name":"a"},"code":404},"#
        + r#""requestObject":{"a":[1,"\u003c"]},"responseObject":{},"#
        + r#""requestReceivedTimestamp":"2023-11-14T22:13:20.120000Z","#
        + r#""stageTimestamp":"2023-11-14T22:13:20.123456Z","annotations":{"a":"1","b":"2"}}"#
        + "\n";
    assert_eq!(rest, expected);
}

#[test]
fn list_items_have_no_type_metadata() {
    let mut out = Vec::new();
    write_list(&[event(), event()], &mut out);
    let text = String::from_utf8(out).unwrap();
    let single = json(&event());
    let item = single.trim_end().replacen(r#""kind":"Event","apiVersion":"audit.k8s.io/v1","#, "", 1);
    let head = r#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#;
    assert_eq!(text, format!("{head}{item},{item}]}}\n"));
}

#[test]
fn legacy_line_matches_upstream() {
    let expected = "2023-11-14T22:13:20.12Z AUDIT: id=\"id\" stage=\"RequestReceived\" ip=\"10.0.0.1\" method=\"get\" \
                    user=\"ann\" groups=\"\\\"dev\\\",\\\"ops\\\"\" as=\"<self>\" asgroups=\"<lookup>\" \
                    user-agent=\"kubectl/v1.36\" namespace=\"ns\" uri=\"/api/v1/namespaces/ns/pods/a?x=<y>\" \
                    response=\"<deferred>\"";
    assert_eq!(event().legacy(), expected);
    let nobody = Event {
        request_record: asked(None, &[], ""),
        object: None,
        response_status: Some(ResponseStatus { code: 200, ..ResponseStatus::default() }),
        ..event()
    };
    let text = nobody.legacy();
    for part in
        ["ip=\"<unknown>\"", "user=\"<none>\" groups=\"<none>\"", "namespace=\"<none>\"", "response=\"200\""]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn legacy_line_has_impersonated_user() {
    let mut event = event();
    let bob = UserInfo { name: "bob".to_owned(), groups: vec!["qa".to_owned()], ..UserInfo::default() };
    event.request_record.impersonated(&bob, "");
    let text = event.legacy();
    assert!(
        text.contains(r#"user="ann" groups="\"dev\",\"ops\"" as="bob" asgroups="\"qa\"" user-agent="#),
        "{text}"
    );
}

#[test]
fn short_record_is_not_changed() {
    let user = UserInfo { name: "ann".to_owned(), ..UserInfo::default() };
    let mut record = asked(Some(&user), &["10.0.0.1".parse().unwrap()], "kubectl");
    let before = record.clone();
    assert!(!record.shorten(4096));
    assert_eq!(record, before);
}

#[test]
fn shortened_record_keeps_start_of_all_members() {
    for piece in ["x", "<", "\u{1}", "日", "\""] {
        let long = piece.repeat(100_000);
        let many: Vec<String> = std::iter::repeat_n(piece.to_owned(), 100_000).collect();
        let user = UserInfo {
            name: long.clone(),
            uid: long.clone(),
            groups: many.clone(),
            extra: [("key".to_owned(), many), (long.clone(), vec![long.clone()])].into(),
        };
        let addresses = [IpAddr::from([0x2000_u16; 8]), "192.0.2.1".parse().unwrap()].repeat(5000);
        let mut record = RequestRecord::new(&long, "watch", Some(&user), addresses.into_iter(), &long);
        record.impersonated(&user, "impersonate");
        assert!(record.shorten(4096));
        assert!((1500..4096).contains(&record.members().len()), "{piece}: {}", record.members().len());
        let text = json(&Event { request_record: record, ..event() });
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["verb"], "watch");
        assert_eq!(value["sourceIPs"].as_array().unwrap().last().unwrap(), "192.0.2.1");
        for pointer in
            ["/requestURI", "/userAgent", "/user/username", "/user/groups/0", "/impersonatedUser/username"]
        {
            assert!(value.pointer(pointer).unwrap().as_str().unwrap().starts_with(piece), "{pointer}");
        }
    }
}
