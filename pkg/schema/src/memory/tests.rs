//! The same extreme body in every format.

use super::*;
use crate::builtin::{IO_K8S_API_CORE_V1_CONFIGMAP as CONFIG_MAP, IO_K8S_API_CORE_V1_POD as POD};
use crate::{cbor, json, proto};

/// A pod with this many empty containers.
fn json_pod(count: usize) -> Vec<u8> {
    format!("{{\"spec\":{{\"containers\":[{}{{}}]}}}}", "{},".repeat(count - 1)).into_bytes()
}

fn cbor_pod(count: usize) -> Vec<u8> {
    let list = [&b"\xa1\x44spec\xa1\x4acontainers\x9f"[..], &b"\xa0".repeat(count), b"\xff"];
    list.concat()
}

fn proto_pod(count: usize) -> Vec<u8> {
    let mut pod = vec![0x12];
    let mut length = 2 * count;
    while length > 0x7f {
        pod.push(length as u8 | 0x80);
        length >>= 7;
    }
    pod.push(length as u8);
    pod.extend(b"\x12\x00".repeat(count));
    pod
}

fn check(count: usize, accepted: bool) {
    let text = json_pod(count);
    let budget = DecodeBudget::of_body(text.len());
    let refused = !accepted;
    let by_json = json::decode_within(&POD, &text, budget);
    assert_eq!(matches!(by_json, Err(json::Error::BudgetExceeded(_))), refused, "JSON of {count}");
    let bytes = cbor_pod(count);
    let by_cbor = cbor::decode_within(&POD, &bytes, DecodeBudget::of_body(bytes.len()));
    assert_eq!(matches!(by_cbor, Err(cbor::Error::BudgetExceeded(_))), refused, "CBOR of {count}");
    let bytes = proto_pod(count);
    let by_proto = proto::decode_within(&POD, &bytes, DecodeBudget::of_body(bytes.len()));
    assert_eq!(matches!(by_proto, Err(proto::Error::BudgetExceeded(_))), refused, "protobuf of {count}");
    if let (Ok(json), Ok(cbor), Ok(proto)) = (by_json, by_cbor, by_proto) {
        assert_eq!((&json.object, &json.object), (&cbor.object, &proto));
    }
}

#[test]
fn lists_of_empty_items_are_bounded() {
    check(10_000, true);
    check(1_000_000, false);
}

#[test]
fn untyped_nested_lists_are_bounded() {
    let text = format!("[{}[]]", "[[]],".repeat(150_000));
    let budget = DecodeBudget::of_body(text.len());
    let flat = format!("[{}0]", "0,".repeat(1_400_000));
    assert!(json::decode_untyped_within(flat.as_bytes(), DecodeBudget::of_body(0)).is_err());
    assert!(json::decode_untyped_within(text.as_bytes(), budget).is_ok());
    let objects = format!("[{}0]", "{\"\":0},".repeat(500_000));
    let refused = json::decode_untyped_within(objects.as_bytes(), DecodeBudget::of_body(objects.len()));
    assert_eq!(refused.unwrap_err(), json::Error::BudgetExceeded(BudgetExceeded));
}

#[test]
fn config_maps_fit_up_to_the_storage_limit() {
    let entries: Vec<String> = (0..150_000).map(|number| format!("\"{number:x}\":\"\"")).collect();
    let text = format!("{{\"data\":{{{}}}}}", entries.join(","));
    assert!(text.len() > 1_400_000, "{}", text.len());
    let decoded =
        json::decode_within(&CONFIG_MAP, text.as_bytes(), DecodeBudget::of_body(text.len())).unwrap();
    let mut bytes = Vec::new();
    proto::encode(&CONFIG_MAP, &decoded.object, &mut bytes).unwrap();
    assert!(proto::decode_within(&CONFIG_MAP, &bytes, DecodeBudget::of_body(bytes.len())).is_ok());
}

#[test]
fn realistic_lists_fit() {
    for item in ["{\"cidr\":\"10.0.0.0/24\"}", "{\"ip\":\"10.255.255.255\"}"] {
        let text = format!("[{}]", vec![item; 20_000].join(","));
        let budget = DecodeBudget::of_body(text.len());
        assert!(json::decode_untyped_within(text.as_bytes(), budget).is_ok());
    }
}
