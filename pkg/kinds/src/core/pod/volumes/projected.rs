//! Projected volumes: secrets, config maps, fields of the pod, service account tokens, trust bundles
//! (KEP-3257) and pod certificates (KEP-4317).

use crate::validation::TOTAL_ANNOTATIONS_BYTES_MAX;
use crate::validation::go_value::go_value;
use crate::validation::selector::label_selector;
use crate::validation::signer_name::{is_kubernetes_signer, signer_name};
use crate::validation::value::{invalid_each, qualified_name, supported_value};
use api::tree::{child, children, is_set, maybe_integer, maybe_text, pairs, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::{
    IO_K8S_API_CORE_V1_CLUSTERTRUSTBUNDLEPROJECTION as TRUST_BUNDLE,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LABELSELECTOR as LABEL_SELECTOR,
};
use schema::object::Object;
use std::collections::BTreeSet;

use super::super::PodOptions;
use super::files::{downward_file, key_to_path, local_path, mode, user};

const KEY_TYPES: &[&str] = &["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
/// Lower limit of a token's lifetime in seconds.
const TOKEN_SECONDS_MIN: i64 = 10 * 60;
/// Upper limit of a token's lifetime in seconds.
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
/// Lower limit of a certificate's maximum lifetime in seconds.
const CERTIFICATE_SECONDS_MIN: i64 = 3600;
/// Upper limit of a certificate's lifetime in seconds: 91 days, or one day for Kubernetes' own signers.
const CERTIFICATE_SECONDS_MAX: i64 = 91 * 86400;
const KUBERNETES_CERTIFICATE_SECONDS_MAX: i64 = 86400;

/// Files of all sources so far. `path` is that of the volume source.
struct Files<'a> {
    path: &'a Path<'a>,
    seen: BTreeSet<String>,
}

impl Files<'_> {
    /// Adds the file of a source; `value` is shown in the error.
    fn add(&mut self, file: &str, value: &str, errors: &mut ErrorList) {
        if !self.seen.insert(file.to_owned()) {
            errors.push(Error::invalid(self.path, value, "conflicting duplicate paths"));
        }
    }
}

/// Validates a projected volume. `path` is that of the source.
pub(super) fn projected(path: &Path<'_>, source: &Object, options: &PodOptions, errors: &mut ErrorList) {
    mode(path, source, "defaultMode", errors);
    user(path, source, "defaultUser", errors);
    let mut files = Files { path, seen: BTreeSet::new() };
    let sources = path.child("sources");
    for (index, projection) in children(source, "sources").enumerate() {
        let path = sources.index(index);
        let mut kinds = 0;
        let mut of_kind = |member: &'static str| {
            let projected_source = child(projection, member);
            kinds += usize::from(projected_source.is_some());
            projected_source
        };
        for member in ["secret", "configMap"] {
            if let Some(keys) = of_kind(member) {
                keys_of(&path.child(member), keys, &mut files, errors);
            }
        }
        if let Some(fields) = of_kind("downwardAPI") {
            for file in children(fields, "items") {
                downward_file(&path.child("downwardAPI"), file, errors);
                let file = text(file, "path");
                if !file.is_empty() {
                    files.add(file, file, errors);
                }
            }
        }
        if let Some(token) = of_kind("serviceAccountToken") {
            self::token(&path.child("serviceAccountToken"), files.path, token, options, errors);
        }
        if let Some(bundle) = of_kind("clusterTrustBundle") {
            trust_bundle(&path.child("clusterTrustBundle"), bundle, &mut files, errors);
        }
        if let Some(certificate) = of_kind("podCertificate") {
            pod_certificate(&path.child("podCertificate"), certificate, &mut files, errors);
        }
        if kinds > 1 {
            errors.push(Error::forbidden(&path, "may not specify more than 1 volume type per source"));
        }
    }
}

fn keys_of(path: &Path<'_>, source: &Object, files: &mut Files<'_>, errors: &mut ErrorList) {
    let name = text(source, "name");
    if name.is_empty() {
        errors.push(Error::required(&path.child("name"), ""));
    }
    let path = path.child("items");
    for (index, item) in children(source, "items").enumerate() {
        key_to_path(&path.index(index), item, errors);
        let file = text(item, "path");
        if !file.is_empty() {
            files.add(file, name, errors);
        }
    }
}

/// As in upstream, errors about a token's file are at the volume, not at the source.
fn token(path: &Path<'_>, volume: &Path<'_>, token: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let seconds = maybe_integer(token, "expirationSeconds").unwrap_or_default();
    let detail = match seconds {
        ..TOKEN_SECONDS_MIN => Some("may not specify a duration less than 10 minutes"),
        TOKEN_SECONDS_MIN..=TOKEN_SECONDS_MAX => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    };
    let seconds_path = path.child("expirationSeconds");
    errors.extend(detail.map(|detail| Error::invalid(&seconds_path, seconds, detail)));
    match text(token, "path") {
        "" => errors.push(Error::required(&volume.child("path"), "")),
        _ if options.nonlocal_token_paths => {}
        file => local_path(&volume.child("path"), file, errors),
    }
    user(path, token, "user", errors);
}

fn trust_bundle(path: &Path<'_>, bundle: &Object, files: &mut Files<'_>, errors: &mut ErrorList) {
    match (maybe_text(bundle, "name"), maybe_text(bundle, "signerName")) {
        (Some(_), Some(_)) => {
            let detail = "only one of name and signerName may be used";
            errors.push(Error::invalid(path, go_value(&TRUST_BUNDLE, bundle), detail));
        }
        (Some(name), None) => {
            if name.is_empty() {
                errors.push(Error::required(&path.child("name"), "must be a valid object name"));
            }
            let messages = trust_bundle_name(name).into_iter();
            let messages = messages.map(|m| format!("not a valid clustertrustbundlename: {m}")).collect();
            invalid_each(&path.child("name"), name, messages, errors);
            if let Some(selector) = child(bundle, "labelSelector") {
                let detail = "labelSelector must be unset if name is specified";
                let value = go_value(&LABEL_SELECTOR, selector);
                errors.push(Error::invalid(&path.child("labelSelector"), value, detail));
            }
        }
        (None, Some(signer)) => {
            if signer.is_empty() {
                errors.push(Error::required(&path.child("signerName"), "must be a valid signer name"));
            }
            signer_name(&path.child("signerName"), signer, errors);
            label_selector(&path.child("labelSelector"), child(bundle, "labelSelector"), false, errors);
        }
        (None, None) => errors.push(Error::required(path, "either name or signerName must be specified")),
    }
    let file = text(bundle, "path");
    if file.is_empty() {
        errors.push(Error::required(&path.child("path"), ""));
    }
    user(path, bundle, "user", errors);
    local_path(&path.child("path"), file, errors);
    files.add(file, file, errors);
}

/// Validates a bundle name. Colons replace the slashes of the signer's name in the name of a signer's bundle.
fn trust_bundle_name(name: &str) -> Vec<String> {
    match name.rsplit_once(':') {
        Some((signer, _)) if signer.contains('/') => {
            let prefix = signer.replace('/', ":");
            let signer = signer.replace(':', "/");
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}:")]
        }
        Some((_, rest)) => names::is_dns1123_subdomain(rest),
        None => names::is_dns1123_subdomain(name),
    }
}

fn pod_certificate(path: &Path<'_>, certificate: &Object, files: &mut Files<'_>, errors: &mut ErrorList) {
    let signer = text(certificate, "signerName");
    signer_name(&path.child("signerName"), signer, errors);
    user_annotations(&path.child("userAnnotations"), certificate, errors);
    user(path, certificate, "user", errors);
    supported_value(&path.child("keyType"), text(certificate, "keyType"), KEY_TYPES, errors);
    if let Some(seconds) = maybe_integer(certificate, "maxExpirationSeconds") {
        let max = if is_kubernetes_signer(signer) {
            KUBERNETES_CERTIFICATE_SECONDS_MAX
        } else {
            CERTIFICATE_SECONDS_MAX
        };
        let bound = if seconds < CERTIFICATE_SECONDS_MIN {
            Some(format!(">= {CERTIFICATE_SECONDS_MIN}"))
        } else {
            (seconds > max).then(|| format!("<= {max}"))
        };
        errors.extend(bound.map(|bound| {
            let detail = format!("if provided, maxExpirationSeconds must be {bound}");
            Error::invalid(&path.child("maxExpirationSeconds"), BadValue::from(seconds), detail)
        }));
    }
    let mut any = false;
    for member in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let file = text(certificate, member);
        if !file.is_empty() {
            any = true;
            local_path(&path.child(member), file, errors);
            files.add(file, file, errors);
        }
    }
    if !any {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.push(Error::required(path, detail));
    }
}

fn user_annotations(path: &Path<'_>, certificate: &Object, errors: &mut ErrorList) {
    let mut bytes = 0;
    for (key, value) in pairs(certificate, "userAnnotations") {
        bytes += key.len() + value.len();
        domain_prefixed_key(path, &key.to_lowercase(), errors);
    }
    if bytes > TOTAL_ANNOTATIONS_BYTES_MAX {
        errors.push(Error::too_long(path, Some(TOTAL_ANNOTATIONS_BYTES_MAX)));
    }
}

fn domain_prefixed_key(path: &Path<'_>, key: &str, errors: &mut ErrorList) {
    if key.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let before = errors.len();
    qualified_name(path, key, errors);
    if errors.len() == before && !key.contains('/') {
        errors.push(Error::invalid(path, key, "must be a domain-prefixed key (such as \"acme.io/foo\")"));
    }
}

/// True if a pod spec has projected tokens with an absolute path or a path with `..`.
pub(crate) fn has_nonlocal_token_path(spec: &Object) -> bool {
    let mut errors = ErrorList::new();
    let sources = children(spec, "volumes").filter_map(|volume| child(volume, "projected"));
    let sources = sources.flat_map(|projected| children(projected, "sources"));
    for token in sources.filter_map(|source| child(source, "serviceAccountToken")) {
        local_path(&Path::NIL, text(token, "path"), &mut errors);
    }
    !errors.is_empty()
}

/// Checks that a pod without a service account has no projected token. `path` is that of the volumes.
pub(crate) fn no_projected_tokens(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    for (index, volume) in children(spec, "volumes").enumerate() {
        let path = path.index(index);
        let path = path.child("projected.sources");
        let sources = child(volume, "projected").into_iter().flat_map(|p| children(p, "sources"));
        for (index, source) in sources.enumerate() {
            if is_set(source, "serviceAccountToken") {
                let path = path.index(index);
                let detail = "must not be specified when serviceAccountName is not set";
                errors.push(Error::forbidden(&path.child("serviceAccountToken"), detail));
            }
        }
    }
}
