//! Protobuf that upstream accepts or rejects, case by case.

use jsontree::{Value, json};
use schema::builtin::*;
use schema::json_write;
use schema::proto::{self, Envelope, decode, is_canonical};
use schema::table::Message;
use schema::transcode::to_json;

/// Both conversions to JSON result in `expected`, and encoding that results in canonical bytes.
#[track_caller]
fn reads(message: &'static Message, raw: &[u8], expected: &str) {
    let mut direct = Vec::new();
    to_json(message, raw, None, None, &mut direct).unwrap();
    assert_eq!(String::from_utf8(direct).unwrap(), expected);
    let tree = decode(message, raw).unwrap();
    let mut json_text = Vec::new();
    json_write::encode(message, &tree, &mut json_text).unwrap();
    assert_eq!(String::from_utf8(json_text).unwrap(), expected.replace("\\ufffd", "\u{fffd}"));
    let mut encoded = Vec::new();
    proto::encode(message, &tree, &mut encoded).unwrap();
    assert!(is_canonical(message, &encoded));
}

#[track_caller]
fn fails(message: &'static Message, raw: &[u8], expected: &str) {
    assert_eq!(decode(message, raw).unwrap_err().to_string(), expected, "{raw:?}");
    assert!(to_json(message, raw, None, None, &mut Vec::new()).is_err());
    assert!(!is_canonical(message, raw));
}

const CONFIG_MAP: &Message = &IO_K8S_API_CORE_V1_CONFIGMAP;
const META: &Message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA;
const SCHEMA: &Message = &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS;

#[test]
fn malformed_messages_have_gogo_errors() {
    let check = |raw: &[u8], expected| fails(CONFIG_MAP, raw, expected);
    check(b"\xff\xff\xff\xff", "unexpected EOF");
    check(b"\x0a\xff\xff\xff\xff\x0f", "unexpected EOF");
    check(b"\x0a\x05\x0a", "unexpected EOF");
    check(b"\x08\x07", "proto: wrong wireType = 0 for field ObjectMeta");
    check(b"\x0b\x0c", "proto: wrong wireType = 3 for field ObjectMeta");
    check(b"\x0c", "proto: ConfigMap: wiretype end group for non-group");
    check(b"\x00\x00", "proto: ConfigMap: illegal tag 0 (wire type 0)");
    check(b"\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field Name");
    check(b"\xf8\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow");
    check(
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "proto: negative length found during unmarshaling",
    );
    check(b"\xff\x01", "proto: illegal wireType 7");
    check(b"\x12\x01\x1c", "proto: unexpected end of group");
    fails(
        &IO_K8S_API_CORE_V1_CONFIGMAPLIST,
        b"\x0a\x02\x22\x00",
        "proto: wrong wireType = 2 for field RemainingItemCount",
    );
    fails(META, b"\x42\x02\x0a\x00", "proto: wrong wireType = 2 for field Seconds");
}

#[test]
fn first_error_on_the_wire_is_reported() {
    // The scan of the outer level finds the last error first.
    fails(CONFIG_MAP, b"\x0a\x02\x08\x01\x10\x00", "proto: wrong wireType = 0 for field Name");
    fails(CONFIG_MAP, b"\x10\x00\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field Data");
}

#[test]
fn invalid_values_are_rejected() {
    let quantity = &IO_K8S_APIMACHINERY_PKG_API_RESOURCE_QUANTITY;
    assert!(is_canonical(quantity, b"\x0a\x011"));
    let limits = &IO_K8S_API_CORE_V1_RESOURCEREQUIREMENTS;
    fails(
        limits,
        b"\x0a\x09\x0a\x01a\x12\x04\x0a\x02ab",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
    fails(&IO_K8S_API_CORE_V1_SERVICEPORT, b"\x22\x02\x08\x05", "impossible IntOrString.Type");
}

#[test]
fn times_of_every_year_are_encoded() {
    let lease = &IO_K8S_API_COORDINATION_V1_LEASE;
    for text in ["9999-12-31T23:59:59.000001-01:00", "0000-01-01T00:00:00.000001+01:00"] {
        let body = json!({"spec": {"renewTime": text}}).to_string();
        let tree = schema::json::decode(lease, body.as_bytes()).unwrap().object;
        let mut encoded = Vec::new();
        proto::encode(lease, &tree, &mut encoded).unwrap();
        assert_eq!(decode(lease, &encoded).unwrap()["spec"], tree["spec"]);
    }
}

#[test]
fn unknown_fields_of_every_wire_type_are_dropped() {
    reads(
        META,
        b"\x0a\x01a\xa0\x06\x05\xa1\x06\0\0\0\0\0\0\0\0\xa2\x06\x01x\xa3\x06\x08\x01\xa4\x06\xa5\x06\0\0\0\0",
        r#"{"name":"a"}"#,
    );
}

#[test]
fn last_scalar_wins_and_structs_are_merged() {
    reads(META, b"\x0a\x01a\x0a\x01b", r#"{"name":"b"}"#);
    reads(META, b"\x0a\x01a\x0a\x00", "{}");
    reads(
        CONFIG_MAP,
        b"\x0a\x03\x0a\x01a\x0a\x04\x1a\x02ns",
        r#"{"metadata":{"name":"a","namespace":"ns"}}"#,
    );
    reads(CONFIG_MAP, b"\x0a\x03\x0a\x01a\x12\x00\x0a\x02\x0a\x00", r#"{"metadata":{},"data":{"":""}}"#);
    reads(META, b"\x42\x02\x08\x05\x42\x02\x10\x00", r#"{"creationTimestamp":"1970-01-01T00:00:00Z"}"#);
    reads(META, b"\x42\x02\x08\x05\x42\x00", "{}");
    let port = &IO_K8S_API_CORE_V1_SERVICEPORT;
    reads(port, b"\x22\x02\x08\x01\x22\x05\x1a\x03web", r#"{"port":0,"targetPort":"web"}"#);
}

#[test]
fn lists_and_maps_may_be_scattered() {
    reads(META, b"\x72\x01a\x0a\x01n\x72\x01b", r#"{"name":"n","finalizers":["a","b"]}"#);
    reads(
        META,
        b"\x5a\x06\x0a\x01b\x12\x012\x0a\x01n\x5a\x06\x0a\x01a\x12\x011\x5a\x06\x0a\x01b\x12\x013",
        r#"{"name":"n","labels":{"a":"1","b":"3"}}"#,
    );
    // An entry may lack key or value, be reversed, or contain unknown fields.
    reads(META, b"\x5a\x03\x12\x01v\x5a\x03\x0a\x01k", r#"{"labels":{"":"v","k":""}}"#);
    reads(META, b"\x5a\x08\x18\x05\x12\x01v\x0a\x01k", r#"{"labels":{"k":"v"}}"#);
}

#[test]
fn numbers_may_be_packed() {
    let security = &IO_K8S_API_CORE_V1_PODSECURITYCONTEXT;
    reads(security, b"\x20\x01\x20\x02", r#"{"supplementalGroups":[1,2]}"#);
    reads(security, b"\x22\x03\x01\xac\x02\x20\x05", r#"{"supplementalGroups":[1,300,5]}"#);
    reads(security, b"\x20\x05\x22\x00", r#"{"supplementalGroups":[5]}"#);
    reads(security, b"\x22\x00", "{}");
    fails(security, b"\x22\x01\x80", "unexpected EOF");
}

#[test]
fn pointers_distinguish_zero_from_absent() {
    let spec = &IO_K8S_API_APPS_V1_DEPLOYMENTSPEC;
    let tree = decode(spec, b"\x08\x00").unwrap();
    assert_eq!(tree.get("replicas"), Some(&Value::from(0)));
    let entry = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_MANAGEDFIELDSENTRY;
    reads(entry, b"\x22\x00\x3a\x00", r#"{"time":null,"fieldsV1":null}"#);
    reads(entry, b"", "{}");
}

#[test]
fn invalid_utf8_becomes_the_replacement_character() {
    reads(META, b"\x0a\x02\xff\xfe", r#"{"name":"\ufffd\ufffd"}"#);
    reads(META, b"\x5a\x06\x0a\x01\xff\x12\x01a", r#"{"labels":{"\ufffd":"a"}}"#);
    assert!(!is_canonical(META, b"\x0a\x01\xff"));
}

#[test]
fn raw_json_is_compacted_in_json_only() {
    let revision = &IO_K8S_API_APPS_V1_CONTROLLERREVISION;
    let raw = b"\x0a\x00\x12\x0e\x0a\x0c{ \"a\" : \"<\"}\x18\x07";
    let mut out = Vec::new();
    to_json(revision, raw, None, None, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"metadata":{},"data":{"a":"\u003c"},"revision":7}"#);
    assert_eq!(decode(revision, raw).unwrap().get("data"), Some(&Value::from("{ \"a\" : \"<\"}")));
    let error = to_json(revision, b"\x12\x03\x0a\x01x", None, None, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "json: error calling MarshalJSON for type runtime.RawExtension: invalid character 'x' at offset 0"
    );
}

#[test]
fn schemas_and_their_alternatives() {
    let check = |raw: &[u8], member: &str| {
        let mut out = Vec::new();
        to_json(SCHEMA, raw, None, None, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{{{member}}}"));
        let mut encoded = Vec::new();
        json_write::encode(SCHEMA, &decode(SCHEMA, raw).unwrap(), &mut encoded).unwrap();
        assert_eq!(String::from_utf8(encoded).unwrap(), format!("{{{member}}}"));
    };
    check(b"\xf2\x01\x02\x08\x01", r#""additionalProperties":true"#);
    check(b"\xf2\x01\x00", r#""additionalProperties":false"#);
    check(b"\xf2\x01\x04\x08\x00\x12\x00", r#""additionalProperties":{}"#);
    check(b"\xc2\x01\x00", r#""items":null"#);
    check(b"\xc2\x01\x02\x0a\x00", r#""items":{}"#);
    check(b"\xc2\x01\x04\x12\x00\x12\x00", r#""items":[{},{}]"#);
    check(b"\x82\x02\x08\x0a\x01k\x12\x03\x12\x01a", r#""dependencies":{"k":["a"]}"#);
    check(b"\x42\x04\x0a\x02{}", r#""default":{}"#);
    check(b"\x42\x00", r#""default":null"#);
    check(b"\x49\0\0\0\0\0\0\xf0\x3f", r#""maximum":1"#);
}

#[test]
fn mistyped_tree_is_rejected_without_output() {
    let check = |object: Value, expected: &str| {
        let mut out = b"kept".to_vec();
        let error =
            proto::encode(&IO_K8S_API_CORE_V1_POD, object.as_object().unwrap(), &mut out).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, b"kept");
    };
    check(json!({"spec": {"hostNetwork": "yes"}}), r#"field "hostNetwork" does not hold a boolean"#);
    check(json!({"spec": {"priority": 1_i64 << 31}}), r#"field "priority" does not hold an int32"#);
    check(json!({"spec": {"containers": {}}}), r#"field "containers" does not hold a list"#);
    check(json!({"metadata": {"labels": []}}), r#"field "labels" does not hold an object"#);
    check(
        json!({"metadata": {"creationTimestamp": "now"}}),
        r#"field "creationTimestamp" does not hold a time"#,
    );
}

#[test]
fn overridden_entry_may_be_invalid_json() {
    let schema = &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS;
    let within = |number, inner: &[u8]| {
        let mut out = Vec::new();
        proto::put_bytes(number, inner, &mut out);
        out
    };
    let property = |default: &[u8]| {
        let entry = [within(1, b"k"), within(2, &within(8, &within(1, default)))].concat();
        // Field 29 with a short content.
        [&[0xea, 0x01, entry.len() as u8], &entry[..]].concat()
    };
    reads(schema, &[property(b"zz"), property(b"7")].concat(), r#"{"properties":{"k":{"default":7}}}"#);
    assert!(to_json(schema, &property(b"zz"), None, None, &mut Vec::new()).is_err());
}

#[test]
fn null_and_absent_encode_alike() {
    let encoded = |object: Value| {
        let mut out = Vec::new();
        proto::encode(&IO_K8S_API_CORE_V1_POD, object.as_object().unwrap(), &mut out).unwrap();
        out
    };
    let empty = encoded(json!({}));
    let nulls = json!({"metadata": null, "spec": {"containers": null, "hostNetwork": null, "affinity": null, "priority": null, "nodeName": null}});
    assert_eq!(encoded(nulls), empty);
    assert_eq!(encoded(json!({"unknown": 1, "kind": "Pod"})), empty);
}

#[test]
fn differently_encoded_bytes_are_not_canonical() {
    let check = |raw: &[u8], expected| assert_eq!(is_canonical(META, raw), expected, "{raw:?}");
    let meta = |time: &[u8], rest: &[u8]| {
        let mut raw = b"\x0a\x01n\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42".to_vec();
        raw.push(time.len() as u8);
        raw.extend_from_slice(time);
        raw.extend_from_slice(rest);
        raw
    };
    check(&meta(b"", b""), true);
    check(b"", false);
    check(&meta(b"\x08\x05\x10\x00", b""), true);
    check(&meta(b"\x08\x05\x10\x01", b""), false);
    check(&meta(b"\x08\x05", b""), false);
    check(&meta(b"\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01\x10\x00", b""), false);
    check(&meta(b"", b"\x5a\x06\x0a\x01a\x12\x011\x5a\x06\x0a\x01b\x12\x012"), true);
    check(&meta(b"", b"\x5a\x06\x0a\x01b\x12\x011\x5a\x06\x0a\x01a\x12\x012"), false);
    check(&meta(b"", b"\x5a\x06\x0a\x01a\x12\x011\x5a\x06\x0a\x01a\x12\x012"), false);
    check(&meta(b"", b"\x5a\x03\x0a\x01a"), false);
    check(&meta(b"", b"\x72\x81\x00f"), false);
    check(&meta(b"", b"\xf0\x01\x00"), false);
    check(&meta(b"", b"\x72\x01f\x62\x00"), false);
    // Ten bytes may contain more than 64 bits; gogo drops the surplus.
    check(&meta(b"", b"\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true);
    check(&meta(b"", b"\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\x41"), false);
}

#[test]
fn envelopes_parse_like_upstream() {
    let check =
        |data: &[u8], expected: &str| assert_eq!(Envelope::parse(data).unwrap_err().to_string(), expected);
    check(b"", "empty data");
    check(b"k8s\0", "empty body");
    let prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    check(b"k8", prefix);
    check(b"k8s\x01\x0a\x00", prefix);
    check(b"{\"kind\":1}", prefix);
    check(b"k8s\0\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field APIVersion");
    check(b"k8s\0\x12\x05", "unexpected EOF");
    let envelope = Envelope::parse(b"k8s\0\x0a\x05\x0a\x01a\x12\x00\x12\x02\x0a\x00").unwrap();
    assert_eq!((&*envelope.api_version, &*envelope.kind, envelope.raw), ("a", "", &b"\x0a\x00"[..]));
}
