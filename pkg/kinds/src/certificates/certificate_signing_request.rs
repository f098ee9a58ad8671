//! Certificate signing requests.

mod columns;
mod defaults;
mod issued_duration;
mod strategy;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::pem::{Block, blocks};
use crate::validation::NameRule;
use crate::validation::go_value::go_list_lines;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::signer_name::signer_name;
use crate::validation::unified_diff::unified_diff;
use crate::validation::x509::{Certificate, Request, X509Error};
use api::semantic::equal;
use api::tree::{child, children, list, maybe_integer, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::Value;
use schema::builtin::IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUESTCONDITION as CONDITION;
use schema::object::Object;
use std::collections::BTreeSet;

pub use issued_duration::IssuedDuration;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::Any,
    qualified_finalizers: true,
    defaults: &[
        Version::without_defaults("certificates.k8s.io/v1"),
        Version::with_defaults("certificates.k8s.io/v1beta1", defaults::signing_request_v1beta1),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &strategy::SigningRequests,
    rare_properties: RareProperties { resets: &[("status", &[".spec"])], ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create: |new| validate(new, Options::default()), update };

/// Lower limit of a requested validity in seconds.
const SECONDS_MIN: i64 = 600;
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
/// Conditions that must be true if present.
const TRUE_CONDITIONS: &[&str] = &["Approved", "Denied", "Failed"];

const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Relaxed rules for updates of objects that already break them.
#[derive(Clone, Copy, Default)]
struct Options {
    approved_and_denied: bool,
    legacy_signer: bool,
    duplicate_conditions: bool,
    empty_condition: bool,
    any_certificate: bool,
    duplicate_usages: bool,
    unknown_usages: bool,
}

fn spec_of(request: &Object) -> Option<&Object> {
    child(request, "spec")
}

fn status_conditions(request: &Object) -> impl Iterator<Item = &Object> {
    child(request, "status").into_iter().flat_map(|status| children(status, "conditions"))
}

fn certificate(request: &Object) -> &str {
    child(request, "status").map_or("", |status| text(status, "certificate"))
}

fn usages(request: &Object) -> impl Iterator<Item = &str> {
    spec_of(request).into_iter().flat_map(|spec| texts(spec, "usages"))
}

fn has_duplicates<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    let mut seen = BTreeSet::new();
    texts.any(|text| !seen.insert(text))
}

fn options(new: &Object, old: &Object) -> Options {
    let kinds = || status_conditions(old).map(|condition| text(condition, "type"));
    let has_type = |kind: &str| kinds().any(|condition_type| condition_type == kind);
    Options {
        approved_and_denied: has_type("Approved") && has_type("Denied"),
        legacy_signer: spec_of(old).is_some_and(|spec| text(spec, "signerName") == LEGACY_SIGNER),
        duplicate_conditions: has_duplicates(kinds()),
        empty_condition: has_type(""),
        any_certificate: certificate(new) == certificate(old) || bad_certificate(certificate(old)).is_some(),
        duplicate_usages: has_duplicates(usages(old)),
        unknown_usages: usages(old).any(|usage| !USAGES.contains(&usage)),
    }
}

fn validate(request: &Object, options: Options) -> ErrorList {
    let mut errors = metadata(request, false, NameRule::Any);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = spec_of(request).unwrap_or(&empty);
    if let Err(error) = signed_request(text(spec, "request")) {
        let value = spec.get("request").unwrap_or(&Value::Null);
        errors.push(Error::invalid(&path.child("request"), value, error.to_string()));
    }
    validate_usages(&path.child("usages"), spec, options, &mut errors);
    let signer = text(spec, "signerName");
    let signer_path = path.child("signerName");
    if signer == LEGACY_SIGNER && !options.legacy_signer {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.push(Error::invalid(&signer_path, signer, detail));
    } else {
        signer_name(&signer_path, signer, &mut errors);
    }
    let seconds = maybe_integer(spec, "expirationSeconds").filter(|seconds| *seconds < SECONDS_MIN);
    if let Some(seconds) = seconds {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(Error::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    conditions(request, options, &mut errors);
    if !options.any_certificate {
        errors.extend(
            bad_certificate(certificate(request)).map(|detail| {
                Error::invalid(&Path::root("status.certificate"), "<certificate data>", detail)
            }),
        );
    }
    errors
}

/// Decodes base64; empty if malformed.
fn decoded(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}

/// Error about the request in a signing request.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("PEM block type must be CERTIFICATE REQUEST")]
    WrongBlock,
    #[error(transparent)]
    Request(#[from] X509Error),
}

/// Checks that the first PEM block is a request signed with its own key.
fn signed_request(base64: &str) -> Result<(), RequestError> {
    let text = decoded(base64);
    match blocks(&text).next() {
        Some(block) if block.label == "CERTIFICATE REQUEST" => {
            Ok(Request::parse(&block.bytes)?.check_signature()?)
        }
        _ => Err(RequestError::WrongBlock),
    }
}

/// Returns the error of a certificate chain.
fn bad_certificate(base64: &str) -> Option<String> {
    let text = decoded(base64);
    let blocks: Vec<Block> = blocks(&text).collect();
    let bad = blocks.iter().find_map(|block| match (block.label.as_str(), block.has_headers) {
        ("CERTIFICATE", false) => match Certificate::count(&block.bytes) {
            Ok(0) => Some("found CERTIFICATE PEM block containing 0 certificates".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        },
        ("CERTIFICATE", true) => Some("no PEM block headers are permitted".to_owned()),
        (kind, _) => Some(format!("only CERTIFICATE PEM blocks are allowed, found {}", quote(kind))),
    });
    let missing = !text.is_empty() && blocks.is_empty();
    bad.or_else(|| missing.then(|| "must contain at least one CERTIFICATE PEM block".to_owned()))
}

fn validate_usages(path: &Path<'_>, spec: &Object, options: Options, errors: &mut ErrorList) {
    if list(spec, "usages").is_empty() {
        errors.push(Error::required(path, ""));
    }
    if !options.unknown_usages {
        let unknown = texts(spec, "usages").enumerate().filter(|(_, usage)| !USAGES.contains(usage));
        errors.extend(unknown.map(|(index, usage)| {
            Error::not_supported(&path.index(index), BadValue::json_text(usage), USAGES)
        }));
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in texts(spec, "usages").enumerate() {
        if !seen.insert(usage) && !options.duplicate_usages {
            errors.push(Error::duplicate(&path.index(index), BadValue::json_text(usage)));
        }
    }
}

fn conditions(request: &Object, options: Options, errors: &mut ErrorList) {
    let path = Path::root("status.conditions");
    let mut seen = BTreeSet::new();
    for (index, condition) in status_conditions(request).enumerate() {
        let item_path = path.index(index);
        let kind = text(condition, "type");
        if kind.is_empty() && !options.empty_condition {
            errors.push(Error::required(&item_path.child("type"), ""));
        }
        let allowed: &[&str] =
            if TRUE_CONDITIONS.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
        let state = text(condition, "status");
        let state_path = item_path.child("status");
        if state.is_empty() {
            errors.push(Error::required(&state_path, ""));
        } else if !allowed.contains(&state) {
            errors.push(Error::not_supported(&state_path, BadValue::json_text(state), allowed));
        }
        let opposite = match kind {
            "Approved" => seen.contains("Denied"),
            "Denied" => seen.contains("Approved"),
            _ => false,
        };
        if opposite && !options.approved_and_denied {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.push(Error::invalid(&path, BadValue::json_text(kind), detail));
        }
        if !seen.insert(kind) && !options.duplicate_conditions {
            errors.push(Error::duplicate(&item_path.child("type"), BadValue::json_text(kind)));
        }
    }
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = validate(new, options(new, old));
    let path = Path::root("status.conditions");
    let of_kind = |request, kind: &'static str| -> Vec<&Object> {
        status_conditions(request).filter(|condition| text(condition, "type") == kind).collect()
    };
    for kind in TRUE_CONDITIONS {
        if of_kind(new, kind).len() < of_kind(old, kind).len() {
            let detail = format!("updates may not remove a condition of type {}", quote(kind));
            errors.push(Error::forbidden(&path, detail));
        }
    }
    let decided = ["Approved", "Denied"].into_iter().filter(|_| subresource != "approval");
    for kind in decided {
        let after = of_kind(new, kind);
        let before = of_kind(old, kind);
        let unchanged = after.iter().zip(&before).all(|(new, old)| equal(&CONDITION, new, old));
        let kind = quote(kind);
        if after.len() > before.len() {
            let detail = format!("updates may not add a condition of type {kind}");
            errors.push(Error::forbidden(&path, detail));
        } else if after.len() == before.len() && !unchanged {
            let diff = unified_diff(&go_list_lines(&CONDITION, &before), &go_list_lines(&CONDITION, &after));
            let detail = format!("updates may not modify a condition of type {kind}\n{diff}");
            errors.push(Error::forbidden(&path, detail));
        }
    }
    let path = Path::root("status.certificate");
    if certificate(new) != certificate(old) {
        if subresource != "status" {
            errors.push(Error::forbidden(&path, "updates may not set certificate content"));
        } else if !certificate(old).is_empty() {
            errors.push(Error::forbidden(&path, "updates may not modify existing certificate content"));
        }
    }
    errors.append(metadata_update(new, old));
    errors
}

#[cfg(test)]
#[path = "certificate_signing_request/tests.rs"]
mod tests;
