//! Cluster trust bundles (KEP-3257).

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::pem::{Block, blocks};
use crate::printers::column::{Column, NAME};
use crate::printers::format::NONE;
use crate::strategy::hooks::Common;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata_update};
use crate::validation::signer_name::signer_name;
use crate::validation::x509::Certificate;
use crate::validation::{NameRule, validate_finalizers_are_qualified, validate_object_meta};
use api::tree::{child, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLESPEC as SPEC;
use schema::object::Object;
use std::collections::BTreeMap;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::ClusterTrustBundle,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("SignerName", |object, _| object.get_path("spec.signerName").non_empty_or(NONE).into())
            .with_description_of("io.k8s.api.certificates.v1beta1.ClusterTrustBundleSpec", "signerName"),
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create: |new| validate(new, true), update };

/// Size limit of a bundle in bytes.
const BUNDLE_BYTES_MAX: usize = 1024 * 1024;

/// Validates a bundle. Certificates are only parsed if they are new.
fn validate(object: &Object, parse: bool) -> ErrorList {
    let root = Path::root("metadata");
    let mut errors = validate_object_meta(object, false, NameRule::ClusterTrustBundle, &root);
    errors.append(validate_finalizers_are_qualified(object, &root));
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(object, "spec").unwrap_or(&empty);
    let signer = text(spec, "signerName");
    if !signer.is_empty() {
        signer_name(&path.child("signerName"), signer, &mut errors);
    }
    if parse {
        anchors(&path.child("trustBundle"), text(spec, "trustBundle"), &mut errors);
    }
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let empty = Object::new();
    let [new_spec, old_spec] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    let changed = text(new_spec, "trustBundle") != text(old_spec, "trustBundle");
    let mut errors = validate(new, changed);
    errors.append(metadata_update(new, old));
    immutable(&Path::root("spec.signerName"), &SPEC, "signerName", new_spec, old_spec, &mut errors);
    errors
}

/// Checks that a bundle consists of CA certificates without duplicates.
fn anchors(path: &Path<'_>, bundle: &str, errors: &mut ErrorList) {
    if bundle.len() > BUNDLE_BYTES_MAX {
        errors.push(Error::too_long(path, Some(BUNDLE_BYTES_MAX)));
        return;
    }
    let mut invalid = |detail: String| errors.push(Error::invalid(path, "<value omitted>", detail));
    let blocks: Vec<Block> = blocks(bundle.as_bytes()).collect();
    let bad: Vec<String> = blocks
        .iter()
        .enumerate()
        .filter_map(|(index, block)| anchor_error(block).map(|why| format!("entry {index} {why}")))
        .collect();
    // With malformed entries, further errors would not be useful.
    if !bad.is_empty() {
        bad.into_iter().for_each(invalid);
        return;
    }
    let mut indices: BTreeMap<&[u8], Vec<String>> = BTreeMap::new();
    for (index, block) in blocks.iter().enumerate() {
        indices.entry(&block.bytes).or_default().push(index.to_string());
    }
    if indices.is_empty() {
        invalid("at least one trust anchor must be provided".to_owned());
    }
    for indices in indices.values().filter(|indices| indices.len() > 1) {
        invalid(format!("duplicate trust anchor (indices [{}])", indices.join(" ")));
    }
}

fn anchor_error(block: &Block) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.label));
    }
    if block.has_headers {
        return Some("has PEM block headers".to_owned());
    }
    match Certificate::parse(&block.bytes) {
        Err(_) => Some("does not parse as X.509".to_owned()),
        Ok(certificate) if !certificate.is_ca() => Some("does not have the CA bit set".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    const AUTHORITY: &str = include_str!("../../testdata/x509/ca.crt");
    const LEAF: &str = include_str!("../../testdata/x509/leaf.crt");

    fn bundle(name: &str, signer: &str, certificates: &str) -> Object {
        let spec = json!({"signerName": signer, "trustBundle": certificates});
        let object = json!({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(errors: &ErrorList, expected: &[&str]) {
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bundle_consists_of_ca_certificates() {
        let create = |certificates: &str| validate(&bundle("a", "", certificates), true);
        check(&create(AUTHORITY), &[]);
        check(&create(""), &["at least one trust anchor must be provided"]);
        check(&create(&AUTHORITY.repeat(2)), &["duplicate trust anchor (indices [0 1])"]);
        check(
            &create(&format!("{AUTHORITY}{LEAF}-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n")),
            &["entry 1 does not have the CA bit set", "entry 2 has bad block type: KEY"],
        );
        let headed = AUTHORITY.replace("CERTIFICATE-----\nM", "CERTIFICATE-----\na: b\n\nM");
        check(&create(&headed), &["entry 0 has PEM block headers"]);
        let text = create(&"x".repeat(BUNDLE_BYTES_MAX + 1));
        check(&text, &["may not be more than 1048576 bytes"]);
    }

    #[test]
    fn a_bundle_of_a_signer_has_its_name() {
        check(&validate(&bundle("a.b:c:d", "a.b/c", AUTHORITY), true), &[]);
        let errors = validate(&bundle("a", "a.b/c", AUTHORITY), true);
        check(&errors, &["ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"]);
    }

    #[test]
    fn unchanged_bundle_is_not_parsed() {
        let old = bundle("a", "", "bad");
        let new = bundle("a", "", LEAF);
        check(&update("", &old, &old), &[]);
        check(&update("", &new, &old), &["entry 0 does not have the CA bit set"]);
        let errors = update("", &bundle("a.b:c:a", "a.b/c", "bad"), &bundle("a.b:c:a", "a.b/d", "bad"));
        check(&errors, &["field is immutable"]);
    }
}
