//! Certificate requests of pods (KEP-4317).

mod columns;
mod issued;

use crate::defaults::fill::{default_struct, if_nil};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::conditions::conditions;
use crate::validation::immutable::immutable;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::signer_name::{is_kubernetes_signer, signer_name};
use crate::validation::value::{dns_subdomain, supported_value};
use crate::validation::x509::{Curve, Key, PublicKeyInfo, Request};
use crate::validation::{NameRule, TOTAL_ANNOTATIONS_BYTES_MAX};
use api::semantic::equal_members;
use api::tree::{child, children, maybe_integer, pairs, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::builtin::{
    IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST as REQUEST,
    IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUESTSTATUS as STATUS,
};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("certificates.k8s.io/v1", defaults),
        Version::with_defaults("certificates.k8s.io/v1beta1", defaults),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties {
        resets: &[("", &[".status"]), ("status", &[".metadata", ".spec"])],
        ..RareProperties::NONE
    },
};

fn defaults(request: &mut crate::defaults::object::Object) {
    default_struct(request, "spec", |spec| if_nil(spec, "maxExpirationSeconds", CERTIFICATE_SECONDS));
}

/// Maximum validity of a pod certificate in seconds: a day.
const CERTIFICATE_SECONDS: i64 = 86_400;

pub(crate) const RULES: ContextRules = ContextRules { create: |new, _| create(new), update };

const UID_BYTES_MAX: usize = 128;
/// Size limit of a key, proof or request in bytes.
const BYTES_MAX: usize = 10 * 1024;
/// Validity limits of a certificate in seconds: at least an hour and at most 91 days, or one day for
/// Kubernetes' own signers.
const SECONDS_MIN: i64 = 60 * 60;
const SECONDS_MAX: i64 = 91 * 24 * 60 * 60;
const KUBERNETES_SECONDS_MAX: i64 = 24 * 60 * 60;
/// Final conditions; a request can only have one of them.
const ENDS: [&str; 3] = ["Issued", "Denied", "Failed"];

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    signer_name(&path.child("signerName"), text(spec, "signerName"), &mut errors);
    user_annotations(&path.child("unverifiedUserAnnotations"), spec, &mut errors);
    for (name, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        dns_subdomain(&path.child(name), text(spec, name), &mut errors);
        let path = path.child(uid);
        let uid = text(spec, uid);
        if uid.is_empty() {
            errors.push(Error::invalid(&path, BadValue::json_text(uid), "must not be empty"));
        }
        if uid.len() > UID_BYTES_MAX {
            errors.push(Error::too_long(&path, Some(UID_BYTES_MAX)));
        }
    }
    let seconds_path = path.child("maxExpirationSeconds");
    let Some(seconds) = maybe_integer(spec, "maxExpirationSeconds") else {
        errors.push(Error::required(&seconds_path, "must be set"));
        return errors;
    };
    let max =
        if is_kubernetes_signer(text(spec, "signerName")) { KUBERNETES_SECONDS_MAX } else { SECONDS_MAX };
    if !(SECONDS_MIN..=max).contains(&seconds) {
        let detail = format!("must be in the range [{SECONDS_MIN}, {max}]");
        errors.push(Error::invalid(&seconds_path, seconds, detail));
    }
    errors.extend(bad_key(&path, spec));
    errors
}

fn user_annotations(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut bytes = 0;
    for (key, value) in pairs(spec, "unverifiedUserAnnotations") {
        bytes += key.len() + value.len();
        let key = key.to_lowercase();
        let details = names::is_label_key(&key);
        if key.is_empty() {
            errors.push(Error::required(path, ""));
        } else if details.is_empty() && !key.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            errors.push(Error::invalid(path, key, detail));
        } else {
            errors.extend(details.into_iter().map(|detail| Error::invalid(path, key.clone(), detail)));
        }
    }
    if bytes > TOTAL_ANNOTATIONS_BYTES_MAX {
        errors.push(Error::too_long(path, Some(TOTAL_ANNOTATIONS_BYTES_MAX)));
    }
}

/// Decodes the base64 bytes in a member.
fn bytes(object: &Object, name: &str) -> Vec<u8> {
    STANDARD.decode(text(object, name)).unwrap_or_default()
}

/// Returns the error of the public key, which is given in a request, or with a proof of possession.
fn bad_key(path: &Path<'_>, spec: &Object) -> Option<Error> {
    let [request, key, proof] = ["stubPKCS10Request", "pkixPublicKey", "proofOfPossession"]
        .map(|member| (path.child(member), bytes(spec, member)));
    match [&request, &key, &proof].map(|(_, bytes)| bytes.is_empty()) {
        [false, true, true] => bad_request(&request.0, &request.1),
        [true, false, false] => {
            bad_proof(&key.0, &key.1, &proof.0, &proof.1, text(spec, "podUID"), text(spec, "pkixPublicKey"))
        }
        _ => {
            let detail =
                "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            Some(Error::invalid(path, BadValue::Omitted, detail))
        }
    }
}

fn bad_request(path: &Path<'_>, der: &[u8]) -> Option<Error> {
    if der.len() > BYTES_MAX {
        return Some(Error::too_long(path, Some(BYTES_MAX)));
    }
    let Ok(request) = Request::parse(der) else {
        return Some(Error::invalid(path, BadValue::Omitted, "must be a valid PKCS#10 CSR"));
    };
    let curves = "elliptic public keys must use curve P256, P384, or P521";
    unsuitable_key(path, request.key, curves, BadValue::Omitted).or_else(|| {
        let bad = request.check_signature().is_err();
        bad.then(|| Error::invalid(path, BadValue::Omitted, "invalid signature"))
    })
}

/// Returns the error for an unsupported key. `curves` is the text about curves, `value` is shown for unknown
/// key types.
fn unsuitable_key(path: &Path<'_>, key: Key, curves: &str, value: BadValue) -> Option<Error> {
    match key {
        Key::Ecdsa(curve @ Curve::P224) => {
            Some(Error::invalid(path, format!("curve {}", curve.name()), curves))
        }
        Key::Rsa { bits } if bits != 3072 && bits != 4096 => {
            let detail = "RSA keys must have modulus size 3072 or 4096";
            Some(Error::invalid(path, format!("{bits}-bit modulus"), detail))
        }
        Key::Other => {
            let detail = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
            Some(Error::invalid(path, value, detail))
        }
        Key::Ecdsa(_) | Key::Rsa { .. } | Key::Ed25519 => None,
    }
}

fn bad_proof(
    key_path: &Path<'_>,
    key: &[u8],
    proof_path: &Path<'_>,
    proof: &[u8],
    uid: &str,
    shown: &str,
) -> Option<Error> {
    let long = [(key_path, key), (proof_path, proof)].into_iter().find(|(_, bytes)| bytes.len() > BYTES_MAX);
    if let Some((path, _)) = long {
        return Some(Error::too_long(path, Some(BYTES_MAX)));
    }
    let Ok(key) = PublicKeyInfo::parse(key) else {
        return Some(Error::invalid(key_path, shown, "must be a valid PKIX-serialized public key"));
    };
    let curves = "elliptic public keys must use curve P256 or P384";
    unsuitable_key(key_path, key.key, curves, shown.into()).or_else(|| {
        let bad = !key.verifies_signature(uid.as_bytes(), proof);
        let detail = "could not verify proof-of-possession signature";
        bad.then(|| Error::invalid(proof_path, BadValue::Omitted, detail))
    })
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        if errors.is_empty() {
            status(new, old, context, &mut errors);
        }
    } else {
        immutable(&Path::root("spec"), &REQUEST, "spec", new, old, &mut errors);
    }
    errors
}

fn status(new: &Object, old: &Object, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("status");
    let [new_status, old_status] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
    ends(&path.child("conditions"), new_status, errors);
    conditions(&path.child("conditions"), new_status, errors);
    // Further checks depend on valid conditions.
    if !errors.is_empty() {
        return;
    }
    let ended = |status: &Object, ends: &[&str]| {
        children(status, "conditions")
            .any(|condition| ends.contains(&text(condition, "type")) && text(condition, "status") == "True")
    };
    let is_unchanged = |other: &Object, but: &str| {
        let mut members = STATUS.members.iter().filter(|member| member.name != but);
        members.all(|member| equal_members(member.field, new_status.get(member.name), other.get(member.name)))
    };
    let fixed = |detail: &str| Error::invalid(&path, BadValue::Omitted, detail);
    if ended(old_status, &ENDS) {
        let detail = "immutable after PodCertificateRequest is issued, denied, or failed";
        errors.extend((!is_unchanged(old_status, "")).then(|| fixed(detail)));
    } else if ended(new_status, &["Denied", "Failed"]) {
        let detail =
            "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
        errors.extend((!is_unchanged(&empty, "conditions")).then(|| fixed(detail)));
    } else if ended(new_status, &["Issued"]) {
        issued::certificate(child(old, "spec").unwrap_or(&empty), new_status, context.now, errors);
    } else {
        let detail = "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"";
        errors.extend((!is_unchanged(old_status, "")).then(|| fixed(detail)));
    }
}

/// Checks that all conditions are final ones, at most one, with the status `True`.
fn ends(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let mut terminal_count = 0;
    for (index, condition) in children(status, "conditions").enumerate() {
        let kind = text(condition, "type");
        let state = text(condition, "status");
        // Upstream builds the path from names, hence the dot.
        let step = format!("[{index}]");
        let path = path.child(&step);
        if !ENDS.contains(&kind) {
            supported_value(&path.child("type"), kind, &ENDS, errors);
            continue;
        }
        terminal_count += 1;
        if terminal_count > 1 {
            let detail = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            errors.push(Error::invalid(&path.child("type"), kind, detail));
        }
        if state != "True" {
            supported_value(&path.child("status"), state, &["True"], errors);
        }
    }
}

#[cfg(test)]
mod tests;
