//! Tests of the ConfigMap.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

use jsontree::Value;
use server::tls::self_signed::{authority, not_after};

/// A fixed current time.
const NOW: i64 = 1_800_000_000;

fn pem(name: &str) -> String {
    authority(name, NOW).unwrap().certificate
}

fn information(client_ca: &[&str], header_ca: &[&str], names: &[&str]) -> ClusterAuthenticationInfo {
    let bundle = |pems: &[&str]| {
        pems.iter().fold(Bundle::default(), |all, pem| all.append(Bundle::parse(pem).unwrap()))
    };
    let names = names.iter().map(|&name| name.to_owned()).collect();
    let lists = BTreeMap::from([("requestheader-allowed-names", names)]);
    ClusterAuthenticationInfo { client_ca: bundle(client_ca), header_ca: bundle(header_ca), lists }
}

/// Returns the data that is written to the ConfigMap, if any.
fn data(current: Option<Value>, own: &ClusterAuthenticationInfo, now: i64) -> Option<Value> {
    let current = current.map(|data| object(json!({"metadata": {"name": NAME}, "data": data})));
    let desired = desired_object(current.as_ref(), own, now).unwrap();
    desired.map(|desired| desired["data"].clone())
}

#[test]
fn only_known_data_is_written() {
    let one = pem("one");
    assert_eq!(data(None, &information(&[], &[], &["x"]), NOW), None);
    assert_eq!(data(None, &information(&[&one], &[], &["x"]), NOW), Some(json!({"client-ca-file": one})));
    assert_eq!(data(Some(json!({"client-ca-file": one})), &information(&[&one], &[], &[]), NOW), None);
}

#[test]
fn servers_merge_their_data() {
    let one = pem("one");
    let two = pem("two");
    let merged = |client: String, header: String, names: &str| {
        json!({
            "client-ca-file": client,
            "requestheader-client-ca-file": header,
            "requestheader-allowed-names": names,
            "requestheader-extra-headers-prefix": "[]",
            "requestheader-group-headers": "[]",
            "requestheader-username-headers": "[]",
        })
    };
    let first = data(None, &information(&[&one], &[&one], &["a"]), NOW).unwrap();
    assert_eq!(first, merged(one.clone(), one.clone(), "[\"a\"]"));
    let second = data(Some(first), &information(&[&two, &one], &[&one], &["b", "a"]), NOW).unwrap();
    assert_eq!(second, merged(format!("{one}{two}"), one.clone(), "[\"a\",\"b\"]"));
    // A server with less data changes nothing, and unknown keys are removed.
    assert_eq!(data(Some(second.clone()), &information(&[], &[], &[]), NOW), None);
    let mut other = second.clone();
    other["x"] = json!("y");
    assert_eq!(data(Some(other), &information(&[], &[], &[]), NOW), Some(second));
}

#[test]
fn an_expired_certificate_is_taken_out() {
    let one = pem("one");
    let later = authority("later", NOW + 1000).unwrap().certificate;
    let expired = not_after(&one).unwrap() + 300;
    let both = json!({"client-ca-file": format!("{one}{later}")});
    let own = information(&[&one], &[], &[]);
    assert_eq!(data(Some(both.clone()), &own, expired - 1), None);
    assert_eq!(data(Some(both), &own, expired), Some(json!({"client-ca-file": later})));
}

#[test]
fn unreadable_config_map_is_unchanged() {
    let check = |current: Value, expected: &str| {
        let current = object(json!({"data": current}));
        let error = desired_object(Some(&current), &information(&[], &[], &[]), NOW).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(json!({"client-ca-file": "x"}), "client-ca-file: no certificates");
    check(
        json!({"requestheader-client-ca-file": "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"}),
        "requestheader-client-ca-file: a certificate is not valid base64",
    );
    check(
        json!({"client-ca-file": "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----"}),
        "client-ca-file: not a certificate",
    );
    check(json!({"client-ca-file": "-----BEGIN CERTIFICATE-----\nYWJj"}), "incomplete certificate");
    check(json!({"requestheader-allowed-names": "a"}), "requestheader-allowed-names: ");
}
