//! The decoders compared with recorded results of upstream, and the encoder with the RFC.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]

use jsontree::{Value, json};

use super::*;
use crate::builtin::{
    self, IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS as SCHEMA,
};
use crate::json_write;
use crate::object::Object;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

/// The rows of a recording, as columns.
fn rows(recording: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    recording.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

#[test]
fn objects_decode_like_upstream() {
    let mut count = 0;
    for row in rows(include_str!("../../testdata/cbor-typed.tsv")) {
        let (api_version, kind) = row[0].split_once(' ').unwrap();
        let message = builtin::kind(api_version, kind).unwrap();
        let bytes = unhex(row[1]);
        let decoded = type_meta(&bytes).and_then(|_| decode(message, &bytes));
        let actual = match decoded {
            Err(error) => format!("error {error}"),
            Ok(Decoded { object, strict }) => {
                let mut json = Vec::new();
                json_write::encode(message, &object, &mut json).unwrap();
                let strict = strict.map(|error| crate::json::errors::strict_decoding_error([error]));
                let outcome = strict.map_or("ok".to_owned(), |text| format!("strict({text})"));
                format!("{outcome} {}", String::from_utf8(json).unwrap())
            }
        };
        assert_eq!(actual, row[2], "{}", row[1]);
        count += 1;
    }
    assert_eq!(count, 137);
}

#[test]
fn untyped_values_decode_like_upstream() {
    let mut count = 0;
    for row in rows(include_str!("../../testdata/cbor-any.tsv")) {
        let actual = match decode_untyped(&unhex(&format!("a14176{}", row[0]))) {
            Err(error) => format!("error {error}"),
            Ok(object) => {
                let mut json = Vec::new();
                json_write::untyped(&Value::Object(object.unwrap()), &mut json).unwrap();
                format!("ok {}", String::from_utf8(json).unwrap())
            }
        };
        assert_eq!(actual, row[1], "{}", row[0]);
        count += 1;
    }
    assert_eq!(count, 60);
}

#[test]
fn invalid_utf8_is_replaced_byte_by_byte() {
    // Upstream keeps the bytes and replaces invalid ones when they become JSON.
    let config_map = builtin::kind("v1", "ConfigMap").unwrap();
    let decoded = decode(config_map, b"\xa1\x44data\xa1\x41a\x43\xff\xfea").unwrap();
    assert_eq!(Value::Object(decoded.object), json!({"data": {"a": "\u{fffd}\u{fffd}a"}}));
}

#[test]
fn values_are_written_in_their_shortest_form() {
    let check = |value: Value, expected: &str| {
        let mut out = Vec::new();
        untyped(&value, &mut out).unwrap();
        assert_eq!(out, unhex(&expected.replace(' ', "")), "{value}");
        let mut wrapped = vec![0xa1, 0x41, b'v'];
        let mut item = out;
        wrapped.append(&mut item);
        assert_eq!(decode_untyped(&wrapped).unwrap().unwrap()["v"], value);
    };
    for (number, expected) in [
        (0, "00"),
        (23, "17"),
        (24, "18 18"),
        (255, "18 ff"),
        (256, "19 0100"),
        (65_536, "1a 00010000"),
        (4_294_967_296, "1b 0000000100000000"),
        (i64::MAX, "1b 7fffffffffffffff"),
        (-1, "20"),
        (-25, "38 18"),
        (i64::MIN, "3b 7fffffffffffffff"),
    ] {
        check(json!(number), expected);
    }
    for (number, expected) in [
        (0.0, "f9 0000"),
        (-0.0, "f9 8000"),
        (1.0, "f9 3c00"),
        (-4.0, "f9 c400"),
        (65_504.0, "f9 7bff"),
        (65_536.0, "fa 47800000"),
        (100_000.0, "fa 47c35000"),
        (5.960_464_477_539_063e-8, "f9 0001"),
        (2.980_232_238_769_531_2e-8, "fa 33000000"),
        (6.103_515_625e-5, "f9 0400"),
        (6.097_555_160_522_461e-5, "f9 03ff"),
        (1.1, "fb 3ff199999999999a"),
        (1e300, "fb 7e37e43c8800759c"),
        (3.402_823_466_385_288_6e38, "fa 7f7fffff"),
        (1.401_298_464_324_817e-45, "fa 00000001"),
    ] {
        check(json!(number), expected);
    }
    check(json!([null, true, false, ""]), "84 f6 f5 f4 40");
    check(json!({"bb": 1, "a": 2, "c": {}, "aa": []}), "a4 41 61 02 41 63 a0 42 6161 80 42 6262 01");
}

#[test]
fn members_are_sorted_by_encoding() {
    let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}});
    let mut out = Vec::new();
    encode(builtin::kind("v1", "Pod").unwrap(), pod.as_object().unwrap(), &mut out).unwrap();
    let expected: Vec<u8> = [
        &[0xd9, 0xd9, 0xf7, 0xa5][..],
        b"\x44kind\x43Pod",
        b"\x44spec\xa1\x4acontainers\xf6",
        b"\x46status\xa0",
        b"\x48metadata\xa1\x44name\x41a",
        b"\x4aapiVersion\x42v1",
    ]
    .concat();
    assert_eq!(out, expected);
}

#[test]
fn invalid_json_cannot_be_encoded() {
    let message = builtin::kind("apps/v1", "ControllerRevision").unwrap();
    let object = json!({"data": "{", "revision": 1});
    let error = encode(message, object.as_object().unwrap(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "runtime.RawExtension holds no JSON: unexpected end of JSON input");
    let error = from_json(b"nope", &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "interface {} holds no JSON: invalid character 'o' in literal null (expecting 'u')");
}

#[test]
fn owner_of_many_fields_can_be_encoded() {
    let fields: Vec<String> = (0..145_000).map(|number| format!(r#""f:w{number}":{{}}"#)).collect();
    let entry = json!({"manager": "m", "fieldsV1": format!(r#"{{"f:data":{{{}}}}}"#, fields.join(","))});
    let object = json!({"metadata": {"managedFields": [entry]}});
    let encoded =
        encode(builtin::kind("v1", "ConfigMap").unwrap(), object.as_object().unwrap(), &mut Vec::new());
    assert_eq!(encoded, Ok(()));
}

#[test]
fn invalid_api_version_is_ignored() {
    let check = |object: Value, api_version: &str, kind: &str| {
        let mut out = Vec::new();
        untyped(&object, &mut out).unwrap();
        let expected = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
        assert_eq!(type_meta(&out), Ok(expected), "{object}");
    };
    check(json!({"apiVersion": "apps/v1", "kind": "Deployment", "more": [1]}), "apps/v1", "Deployment");
    check(json!({"apiVersion": "a/b/c", "kind": "K"}), "", "K");
    check(json!({"apiversion": "v1", "Kind": "K"}), "", "");
    check(json!({"apiVersion": null}), "", "");
}

/// Runs on a worker's stack size; debug frames are several times larger than release frames.
fn on_a_small_stack(body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(body).unwrap().join().unwrap();
}

#[test]
fn deep_nesting_is_an_error() {
    on_a_small_stack(|| {
        let lists = |depth: usize| [&b"\xa1\x41v"[..], &vec![0x81; depth], b"\x00"].concat();
        let error = |bytes: &[u8]| decode_untyped(bytes).unwrap_err().to_string();
        assert!(decode_untyped(&lists(TREE_DEPTH_MAX - 1)).is_ok());
        assert_eq!(error(&lists(TREE_DEPTH_MAX)), "cbor: exceeded max nested level 400");
        assert_eq!(error(&lists(DEPTH_MAX)), "cbor: exceeded max nested level 10000");
        let tags = [&b"\xa1\x41v"[..], &vec![0xc6; DEPTH_MAX], b"\x00"].concat();
        assert!(decode_untyped(&tags).is_ok(), "tags take no stack");
        let tags = [&b"\xa1\x41v"[..], &vec![0xc6; DEPTH_MAX + 1], b"\x00"].concat();
        assert_eq!(error(&tags), "cbor: exceeded max nested level 10000");

        let pod = builtin::kind("v1", "Pod").unwrap();
        let dropped = [&b"\xa1\x44nope"[..], &vec![0x81; DEPTH_MAX - 1], b"\x00"].concat();
        assert_eq!(decode(pod, &dropped).unwrap().object, Object::new(), "what is dropped may nest");
        let schemas = [b"\xa1\x43not".repeat(DEPTH_MAX), vec![0xa0]].concat();
        assert!(decode(&SCHEMA, &schemas).is_err());
        let schemas = [b"\xa1\x55additionalProperties".repeat(DEPTH_MAX - 1), vec![0xa0]].concat();
        assert!(decode(&SCHEMA, &schemas).is_err());
    });
}
