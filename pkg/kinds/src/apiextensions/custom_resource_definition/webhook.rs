//! Conversion of objects between versions.

use super::subschemas::strings;
use super::validation_rules::ValidationRules;
use crate::admissionregistration::client_config;
use crate::pem::{Block, blocks};
use api::tree::{child, list, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names::is_dns1035_label;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::object::Object;
use std::collections::HashSet;

/// Conversion review versions that servers send.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(
    path: &Path<'_>,
    conversion: &Object,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    let strategy = text(conversion, "strategy");
    match strategy {
        "" => errors.push(Error::required(&path.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => errors.push(Error::not_supported(&path.child("strategy"), other, &["None", "Webhook"])),
    }
    let config_path = path.child("webhookClientConfig");
    let config = child(conversion, "webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            errors.push(Error::forbidden(&config_path, detail));
        }
        if !list(conversion, "conversionReviewVersions").is_empty() {
            errors.push(Error::forbidden(&versions_path, detail));
        }
        return;
    }
    match config {
        None => errors.push(Error::required(&config_path, "required when strategy is set to Webhook")),
        Some(config) => {
            client_config(&config_path, config, errors);
            let bundle = text(config, "caBundle");
            if let Some(problem) = ca_bundle_error(bundle).filter(|_| rules.bundle && !bundle.is_empty()) {
                errors.push(Error::invalid(&config_path.child("caBundle"), bundle, problem));
            }
        }
    }
    review_versions(&versions_path, conversion, rules, errors);
}

fn review_versions(
    path: &Path<'_>,
    conversion: &Object,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    let Some(value) = conversion.get("conversionReviewVersions") else {
        errors.push(Error::required(path, ""));
        return;
    };
    let versions: Vec<&str> = strings(conversion, "conversionReviewVersions").collect();
    if versions.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().copied().enumerate() {
        let path = path.index(index);
        if !seen.insert(version) {
            errors.push(Error::invalid(&path, version, "duplicate version"));
            continue;
        }
        errors.extend(
            is_dns1035_label(version).into_iter().map(|message| Error::invalid(&path, version, message)),
        );
    }
    if rules.known_review_version && !has_known_review_version(versions.into_iter()) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.push(Error::invalid(path, BadValue::from(value), detail));
    }
}

/// True if servers send any of these conversion review versions.
pub(super) fn has_known_review_version<'v>(mut versions: impl Iterator<Item = &'v str>) -> bool {
    versions.any(|version| REVIEW_VERSIONS.contains(&version))
}

/// Returns true if the CA bundle of a stored definition's conversion webhook can be parsed, or if there is
/// none.
pub fn converter_is_believable(definition: &Object) -> bool {
    let conversion = child(definition, "spec").and_then(|spec| child(spec, "conversion"));
    // Definitions are stored in v1beta1.
    let config = conversion.and_then(|conversion| child(conversion, "webhookClientConfig"));
    let bundle = config.map_or("", |config| text(config, "caBundle"));
    bundle.is_empty() || ca_bundle_error(bundle).is_none()
}

/// Returns the reason why a CA bundle (base64 of PEM) has no certificates. The contents of the certificates
/// are not checked.
pub(super) fn ca_bundle_error(bundle: &str) -> Option<&'static str> {
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let blocks: Vec<Block> = blocks(&bytes).collect();
    if blocks.iter().any(|block| block.label == "CERTIFICATE" && !block.has_headers) {
        return None;
    }
    Some(if blocks.is_empty() {
        "unable to load root certificates: unable to parse bytes as PEM block"
    } else {
        "unable to load root certificates: no valid certificate authority data seen"
    })
}
