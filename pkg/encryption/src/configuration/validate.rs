//! Validation of a configuration, with upstream's error texts
//! (`apis/apiserver/validation/validation_encryption.go`).

use std::collections::BTreeSet;

use apimachinery::field::{Error, ErrorList, Path, aggregate};
use apimachinery::time::format_duration;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cel::ext::url::parse_reference;
use jsontree::{Value, json};

use super::decode::{self, Rule as Written};
use super::{Configuration, EncryptionConfigurationError, Key, Pattern, Provider, Rule};
use crate::{Kms, KmsVersion};

const AES_LENGTHS: &[usize] = &[16, 24, 32];
const SECRETBOX_LENGTHS: &[usize] = &[32];

/// Resources without an API. They cannot be encrypted, because no client could request a rewrite.
const WITHOUT_API: [&str; 3] = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"];
/// Replaces keys in error texts. Upstream shows the keys there.
const REDACTED: &str = "REDACTED";

/// Validates rules.
///
/// # Errors
/// All errors of the rules, joined.
pub(super) fn configuration(
    rules: Vec<Written>,
    reload: bool,
) -> Result<Configuration, EncryptionConfigurationError> {
    let root = Path::root("resources");
    let mut judge = RuleValidator { errors: ErrorList::new(), names: BTreeSet::new(), reload };
    if rules.is_empty() {
        judge.errors.push(Error::required(&root, "at least one resources is required"));
    }
    let mut checked = Vec::with_capacity(rules.len());
    for (index, written) in rules.into_iter().enumerate() {
        checked.push(judge.rule(written, &root.index(index)));
    }
    match aggregate(judge.errors.iter()) {
        Some(text) => Err(EncryptionConfigurationError::Invalid(text)),
        None => Ok(Configuration { rules: checked }),
    }
}

/// Validation state: errors so far and plugin names so far.
struct RuleValidator {
    errors: ErrorList,
    names: BTreeSet<String>,
    reload: bool,
}

impl RuleValidator {
    fn rule(&mut self, written: Written, at: &Path<'_>) -> Rule {
        let resources = at.child("resources");
        let providers = at.child("providers");
        let none = |at: &Path<'_>| Error::required(at, format!("at least one {at} is required"));
        if written.resources.is_empty() {
            self.errors.push(none(&resources));
        }
        let patterns: Vec<Pattern> = written.resources.iter().map(|text| Pattern::parse(text)).collect();
        self.overlaps(&patterns, &written.resources, &resources);
        for (index, (text, pattern)) in written.resources.iter().zip(&patterns).enumerate() {
            if let Some(detail) = validate_name(text, pattern) {
                self.errors.push(Error::invalid(&resources.index(index), text, detail));
            }
        }
        if written.providers.is_empty() {
            self.errors.push(none(&providers));
        }
        let each = written.providers.into_iter().enumerate();
        let checked = each.filter_map(|(index, one)| self.provider(one, &providers.index(index)));
        Rule { providers: checked.collect(), resources: patterns }
    }

    fn overlaps(&mut self, patterns: &[Pattern], texts: &[String], at: &Path<'_>) {
        let mut duplicate = false;
        let mut overlap = false;
        for (index, pattern) in patterns.iter().enumerate() {
            for (_, second) in patterns.iter().enumerate().filter(|(number, _)| *number != index) {
                if pattern == second && !duplicate {
                    duplicate = true;
                    continue;
                }
                let is_wildcard = pattern.resource == "*" || second.resource == "*";
                overlap |= *pattern == Pattern::all() || pattern.group == second.group && is_wildcard;
            }
        }
        let value = Value::from(texts.to_vec());
        if duplicate {
            let detail = "the same resource cannot be specified multiple times";
            self.errors.push(Error::invalid(at, &value, detail));
        }
        if overlap {
            let detail = "using overlapping resources such as 'secrets' and '*.' in the same resource list is \
                          not allowed as they will be masked";
            self.errors.push(Error::invalid(at, &value, detail));
        }
    }

    /// Validates a provider. Returns `None` for an element without a provider, after recording the error.
    fn provider(&mut self, written: decode::Provider, at: &Path<'_>) -> Option<Provider> {
        let decode::Provider { aesgcm, aescbc, secretbox, identity, kms } = written;
        let present = [kms.is_some(), aesgcm.is_some(), aescbc.is_some(), secretbox.is_some(), identity];
        let detail = match present.into_iter().filter(|present| *present).count() {
            0 => Some(
                "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
            ),
            1 => None,
            _ => Some(
                "more than one provider specified in a single element, should split into different list elements",
            ),
        };
        if let Some(detail) = detail {
            let redacted = |present: bool| if present { json!(REDACTED) } else { Value::Null };
            let [kms, aesgcm, aescbc, secretbox, identity] = present.map(redacted);
            let value = json!({
                "AESGCM": aesgcm, "AESCBC": aescbc, "Secretbox": secretbox, "Identity": identity, "KMS": kms,
            });
            self.errors.push(Error::invalid(at, &value, detail));
        }
        // Like upstream, continue with the first provider that is set.
        let keys_of = |name: &'static str| at.child(name);
        if let Some(kms) = kms {
            return self.kms(kms, &at.child("kms")).map(Provider::Kms);
        }
        if let Some(keys) = aesgcm {
            return Some(Provider::AesGcm(self.keys(keys, &keys_of("aesgcm"), AES_LENGTHS)));
        }
        if let Some(keys) = aescbc {
            return Some(Provider::AesCbc(self.keys(keys, &keys_of("aescbc"), AES_LENGTHS)));
        }
        if let Some(keys) = secretbox {
            return Some(Provider::Secretbox(self.keys(keys, &keys_of("secretbox"), SECRETBOX_LENGTHS)));
        }
        identity.then_some(Provider::Identity)
    }

    fn keys(&mut self, keys: Vec<decode::Key>, at: &Path<'_>, lengths: &[usize]) -> Vec<Key> {
        let at = at.child("keys");
        if keys.is_empty() {
            self.errors.push(Error::required(&at, "at least one keys is required"));
        }
        let each = keys.into_iter().enumerate();
        each.filter_map(|(index, key)| self.key(key, &at.index(index), lengths)).collect()
    }

    fn key(&mut self, key: decode::Key, at: &Path<'_>, lengths: &[usize]) -> Option<Key> {
        if key.name.is_empty() {
            self.errors.push(Error::required(&at.child("name"), "name is a mandatory field for a key"));
        }
        let at = at.child("secret");
        if key.secret.is_empty() {
            self.errors.push(Error::required(&at, "secret is a mandatory field for a key"));
            return None;
        }
        // Go's decoder ignores line breaks.
        let encoded = key.secret.replace(['\n', '\r'], "");
        let Ok(secret) = STANDARD.decode(encoded) else {
            self.errors.push(Error::invalid(&at, REDACTED, "secrets must be base64 encoded"));
            return None;
        };
        if !lengths.contains(&secret.len()) {
            let expected: Vec<String> = lengths.iter().map(usize::to_string).collect();
            let detail = format!(
                "secret is not of the expected length, got {}, expected one of [{}]",
                secret.len(),
                expected.join(" ")
            );
            self.errors.push(Error::invalid(&at, REDACTED, detail));
        }
        Some(Key { name: key.name, secret })
    }

    fn kms(&mut self, kms: decode::Kms, at: &Path<'_>) -> Option<Kms> {
        self.kms_name(&kms, &at.child("name"));
        if kms.timeout <= 0 {
            let value = format_duration(kms.timeout);
            let detail = "timeout should be a positive value";
            self.errors.push(Error::invalid(&at.child("timeout"), &value, detail));
        }
        if let Some(error) = validate_endpoint(&kms.endpoint, &at.child("endpoint")) {
            self.errors.push(error);
        }
        let version = match &*kms.api_version {
            "v1" => Some(KmsVersion::V1),
            "v2" => Some(KmsVersion::V2),
            _ => None,
        };
        let at_size = at.child("cachesize");
        if let Some(size) = kms.cache_size {
            if version != Some(KmsVersion::V1) {
                self.errors.push(Error::invalid(
                    &at_size,
                    &Value::from(size),
                    "cachesize is not supported in v2",
                ));
            } else if size == 0 {
                let detail = "cachesize should be a positive value, or negative to disable";
                self.errors.push(Error::invalid(&at_size, &Value::from(size), detail));
            }
        }
        if version.is_none() {
            let detail = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
            self.errors.push(Error::invalid(&at.child("apiVersion"), &kms.api_version, detail));
        }
        self.names.insert(kms.name.clone());
        let timeout = kms.timeout();
        Some(Kms {
            version: version?,
            name: kms.name,
            cache_size: kms.cache_size.and_then(|size| usize::try_from(size).ok()),
            endpoint: kms.endpoint,
            timeout,
        })
    }

    fn kms_name(&mut self, kms: &decode::Kms, at: &Path<'_>) {
        let name = &kms.name;
        if name.is_empty() {
            self.errors.push(Error::required(at, "name is a mandatory field for a provider"));
        }
        let is_v1 = kms.api_version == "v1";
        if !is_v1 && name.contains(':') {
            let detail = format!("invalid KMS provider name {name}, must not contain ':'");
            self.errors.push(Error::invalid(at, name, detail));
        }
        if (self.reload || !is_v1) && self.names.contains(name) {
            let detail = format!("duplicate KMS provider name {name}, names must be unique");
            self.errors.push(Error::invalid(at, name, detail));
        }
    }
}

/// Returns the error of a resource pattern.
fn validate_name(text: &str, pattern: &Pattern) -> Option<&'static str> {
    if text.to_lowercase() != text {
        return Some("resource name should not contain capital letters");
    }
    if text == "*" {
        return Some(
            "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
        );
    }
    if WITHOUT_API.contains(&text) {
        return Some("resources which do not have REST API/s cannot be encrypted");
    }
    match (&*pattern.group, &*pattern.resource) {
        ("events.k8s.io", _) => Some(
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in \
             the config file",
        ),
        ("extensions", _) => Some("'extensions' group has been removed and cannot be used for encryption"),
        ("*", resource) if resource != "*" => {
            Some("encrypting the same resource across groups is not supported")
        }
        _ => None,
    }
}

fn validate_endpoint(endpoint: &str, at: &Path<'_>) -> Option<Error> {
    if endpoint.is_empty() {
        return Some(Error::invalid(at, "", "endpoint is a mandatory field for a kms"));
    }
    match parse_reference(endpoint) {
        Err(error) => {
            let detail = format!("invalid endpoint for kms provider, error: {error}");
            Some(Error::invalid(at, endpoint, detail))
        }
        Ok(url) if url.scheme() != "unix" => {
            let scheme = apimachinery::go_quote::quote(url.scheme());
            let detail = format!("unsupported scheme {scheme} for KMS provider, only unix is supported");
            Some(Error::invalid(at, endpoint, detail))
        }
        Ok(_) => None,
    }
}
