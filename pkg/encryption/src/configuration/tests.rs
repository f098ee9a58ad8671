//! Valid configurations, invalid ones, and their error texts.

use std::time::Duration;

use super::*;
use crate::KmsVersion;

/// A configuration, or the text of the error.
type Outcome = Result<Configuration, String>;

fn read(rules: &str) -> Outcome {
    read_with(rules, false)
}

fn read_with(rules: &str, reload: bool) -> Outcome {
    let text = format!("kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n{rules}");
    Configuration::read(text.as_bytes(), reload).map_err(|error| error.to_string())
}

fn rule(resources: &str, providers: &str) -> Outcome {
    read(&format!("resources:\n- resources: {resources}\n  providers: {providers}\n"))
}

const KEY_16: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

#[test]
fn configuration_maps_resources_to_providers() {
    let read = rule(
        "[secrets, deployments.apps, pandas.awesome.bears.example]",
        &format!(
            "[{{aescbc: {{keys: [{{name: a, secret: {KEY_16}}}]}}}}, {{identity: {{}}}}, {{kms: {{name: k, endpoint: \
             unix:///k.sock}}}}, {{kms: {{apiVersion: v2, name: l, endpoint: \"unix:///@l\", timeout: 1m}}}}]"
        ),
    )
    .unwrap();
    let [Rule { resources, providers }] = &*read.rules else { panic!() };
    let resources: Vec<String> = resources.iter().map(ToString::to_string).collect();
    assert_eq!(resources, ["secrets", "deployments.apps", "pandas.awesome.bears.example"]);
    let key = Key { name: "a".to_owned(), secret: b"0123456789abcdef".to_vec() };
    let kms = |version, name: &str, cache_size, endpoint: &str, timeout| {
        let name = name.to_owned();
        let endpoint = endpoint.to_owned();
        Provider::Kms(Kms { version, name, cache_size, endpoint, timeout: Duration::from_secs(timeout) })
    };
    let expected = [
        Provider::AesCbc(vec![key]),
        Provider::Identity,
        kms(KmsVersion::V1, "k", Some(1000), "unix:///k.sock", 3),
        kms(KmsVersion::V2, "l", None, "unix:///@l", 60),
    ];
    assert_eq!(providers, &expected);
}

#[test]
fn rule_errors_equal_upstreams() {
    let check = |rules: &str, expected: &str| assert_eq!(read(rules).unwrap_err(), expected, "{rules}");
    check("", "resources: Required value: at least one resources is required");
    check(
        "resources: [{}]",
        "[resources[0].resources: Required value: at least one resources[0].resources is required, \
         resources[0].providers: Required value: at least one resources[0].providers is required]",
    );
    check("resource: []", "strict decoding error: unknown field \"resource\"");
}

#[test]
fn resource_errors_equal_upstreams() {
    let check = |resources: &str, expected: &str| {
        let error = rule(resources, "[{identity: {}}]").unwrap_err();
        assert!(error.contains(expected), "{resources}: {error}");
    };
    check(
        "[Secrets]",
        "resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain capital",
    );
    check(
        "['*']",
        "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
    );
    check("[serviceipallocations]", "resources which do not have REST API/s cannot be encrypted");
    check("[events.events.k8s.io]", "Use 'events' instead in the config file");
    check("[ingresses.extensions]", "'extensions' group has been removed and cannot be used for encryption");
    check("['secrets.*']", "encrypting the same resource across groups is not supported");
    check("[secrets, secrets]", "the same resource cannot be specified multiple times");
    for overlapping in ["[secrets, '*.']", "['*.apps', deployments.apps]", "['*.*', secrets]"] {
        check(
            overlapping,
            "using overlapping resources such as 'secrets' and '*.' in the same resource list",
        );
    }
    for fine in ["['*.*']", "['*.', '*.apps']", "[secrets, configmaps, secrets.example.com]"] {
        assert!(rule(fine, "[{identity: {}}]").is_ok(), "{fine}");
    }
}

#[test]
fn provider_errors_redact_keys() {
    let check = |providers: &str, expected: &str| {
        let error = rule("[secrets]", providers).unwrap_err();
        assert!(error.contains(expected), "{providers}: {error}");
        assert!(!error.contains("MDEy"), "{error}");
    };
    check(
        "[{}]",
        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
    );
    let both = format!("[{{identity: {{}}, aescbc: {{keys: [{{name: a, secret: {KEY_16}}}]}}}}]");
    check(
        &both,
        "more than one provider specified in a single element, should split into different list elements",
    );
    check("[{aesgcm: {}}]", "providers[0].aesgcm.keys: Required value: at least one keys is required");
    check("[{aesgcm: {keys: [{}]}}]", "keys[0].name: Required value: name is a mandatory field for a key");
    check(
        "[{aesgcm: {keys: [{}]}}]",
        "keys[0].secret: Required value: secret is a mandatory field for a key",
    );
    check(
        "[{aescbc: {keys: [{name: a, secret: MDEy=}]}}]",
        "aescbc.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded",
    );
    check(
        &format!("[{{secretbox: {{keys: [{{name: a, secret: {KEY_16}}}]}}}}]"),
        "secret is not of the expected length, got 16, expected one of [32]",
    );
    check("[{aesgcm: {keys: [{name: a, secret: MDEy}]}}]", "got 3, expected one of [16 24 32]");
}

#[test]
fn plugin_errors_equal_upstreams() {
    let check = |kms: &str, expected: &str| {
        let error = rule("[secrets]", &format!("[{{kms: {{{kms}}}}}]")).unwrap_err();
        assert!(error.contains(expected), "{kms}: {error}");
    };
    check("endpoint: 'unix:///a'", "kms.name: Required value: name is a mandatory field for a provider");
    check("name: a", "kms.endpoint: Invalid value: \"\": endpoint is a mandatory field for a kms");
    check(
        "name: a, endpoint: 'http://a'",
        "unsupported scheme \"http\" for KMS provider, only unix is supported",
    );
    check("name: a, endpoint: 'unix:///a', timeout: 0s", "timeout should be a positive value");
    check("name: a, endpoint: 'unix:///a', timeout: soon", "time: invalid duration \"soon\"");
    check(
        "name: a, endpoint: 'unix:///a', cachesize: 0",
        "cachesize should be a positive value, or negative to disable",
    );
    check("apiVersion: v2, name: a, endpoint: 'unix:///a', cachesize: 1", "cachesize is not supported in v2");
    check(
        "apiVersion: v2, name: 'a:b', endpoint: 'unix:///a'",
        "invalid KMS provider name a:b, must not contain ':'",
    );
    check("apiVersion: v3, name: a, endpoint: 'unix:///a'", "only v1 and v2 are supported");
}

#[test]
fn v1_plugins_share_names_without_reload() {
    let provider = "{kms: {name: a, endpoint: 'unix:///a'}}";
    let text = format!("resources: [{{resources: [secrets], providers: [{provider}, {provider}]}}]");
    assert!(read_with(&text, false).is_ok());
    let error = read_with(&text, true).unwrap_err();
    assert!(error.contains("duplicate KMS provider name a, names must be unique"), "{error}");
}

#[test]
fn untyped_file_is_not_quoted() {
    let error = Configuration::read(b"kind: EncryptionConfiguration\nsecret: MDEy\n", false).unwrap_err();
    let text = "Object 'apiVersion' is missing in 'REDACTED'".to_owned();
    assert_eq!(error, EncryptionConfigurationError::Decode(ReadError::Unknown(text)));
}
