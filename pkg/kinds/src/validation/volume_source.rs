//! Volume sources that pods and persistent volumes share, with the paths and texts for pods.

use super::value::{dns_label, dns_subdomain, no_backsteps, supported_value};
use api::tree::{child, flag, integer, is_set, list, maybe_integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;

/// Length limit of a CSI driver's name in bytes.
const CSI_DRIVER_BYTES_MAX: usize = 63;
/// Length limit of a Quobyte tenant in bytes.
const QUOBYTE_TENANT_BYTES_MAX: usize = 64;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks that members (texts or lists) are not empty.
pub(crate) fn required(path: &Path<'_>, source: &Object, members: &[&str], errors: &mut ErrorList) {
    let absent = members.iter().filter(|member| text(source, member).is_empty());
    let absent = absent.filter(|member| list(source, member).is_empty());
    errors.extend(absent.map(|member| Error::required(&path.child(member), "")));
}

/// Checks that a secret reference, if present, has these members.
pub(crate) fn secret_ref(path: &Path<'_>, source: &Object, members: &[&str], errors: &mut ErrorList) {
    if let Some(secret) = child(source, "secretRef") {
        required(&path.child("secretRef"), secret, members, errors);
    }
}

/// Validates a path on the node.
pub(crate) fn host_path(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let directory = text(source, "path");
    if directory.is_empty() {
        errors.push(Error::required(&path.child("path"), ""));
        return;
    }
    no_backsteps(&path.child("path"), directory, errors);
    if let Some(kind) = maybe_text(source, "type") {
        supported_value(&path.child("type"), kind, HOST_PATH_TYPES, errors);
    }
}

/// Validates a cloud disk with partitions; its name is in the member `id`.
pub(crate) fn partitioned_disk(path: &Path<'_>, source: &Object, id: &str, errors: &mut ErrorList) {
    required(path, source, &[id], errors);
    let partition = integer(source, "partition");
    if !(0..=255).contains(&partition) {
        // This is upstream's text, although 0 is valid.
        let detail = names::inclusive_range_error(1, 255);
        errors.push(Error::invalid(&path.child("partition"), partition, detail));
    }
}

pub(crate) fn nfs(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    required(path, source, &["server", "path"], errors);
    let export = text(source, "path");
    if !export.starts_with('/') {
        errors.push(Error::invalid(&path.child("path"), export, "must be an absolute path"));
    }
}

/// Validates an iSCSI target. `unknown_format` is the error for names in none of the three formats.
pub(crate) fn iscsi(path: &Path<'_>, source: &Object, unknown_format: &str, errors: &mut ErrorList) {
    required(path, source, &["targetPortal"], errors);
    match text(source, "iqn") {
        "" => errors.push(Error::required(&path.child("iqn"), "")),
        name => iscsi_name(&path.child("iqn"), name, unknown_format, errors),
    }
    lun(&path.child("lun"), integer(source, "lun"), errors);
    let chap = flag(source, "chapAuthDiscovery") || flag(source, "chapAuthSession");
    if chap && !is_set(source, "secretRef") {
        errors.push(Error::required(&path.child("secretRef"), ""));
    }
}

/// Validates the `initiatorName` of an iSCSI source. The path is upstream's.
pub(crate) fn iscsi_initiator(
    path: &Path<'_>,
    source: &Object,
    unknown_format: &str,
    errors: &mut ErrorList,
) {
    if let Some(name) = maybe_text(source, "initiatorName") {
        iscsi_name(&path.child("initiatorname"), name, unknown_format, errors);
    }
}

fn iscsi_name(path: &Path<'_>, name: &str, unknown_format: &str, errors: &mut ErrorList) {
    let valid = match name.get(..3) {
        Some("iqn") => is_iqn(name),
        Some("eui") => is_id(name, 16),
        Some("naa") => is_id(name, 32),
        _ => {
            errors.push(Error::invalid(path, name, unknown_format));
            return;
        }
    };
    if !valid {
        errors.push(Error::invalid(path, name, "must be valid format"));
    }
}

/// True for `iqn.YYYY-MM.`, a reversed domain, a colon and a name without `,;*&$|` and white space.
fn is_iqn(name: &str) -> bool {
    // Upstream's pattern is not anchored: the name may start anywhere.
    name.match_indices("iqn.").any(|(at, _)| {
        let rest = name.get(at + 4..).unwrap_or_default();
        let date = rest.get(..8).map(str::as_bytes).unwrap_or_default();
        let dated = matches!(date, [y @ .., b'-', m1, m2, b'.'] if y.len() == 4
            && y.iter().chain([m1, m2]).all(u8::is_ascii_digit));
        let (domain, unique) = rest.get(8..).and_then(|rest| rest.split_once(':')).unwrap_or_default();
        let white = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r');
        dated
            && !domain.is_empty()
            && domain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
            && !unique.is_empty()
            && !unique.contains(|c: char| ",;*&$|".contains(c) || white(c))
    })
}

/// True for three letters, any character (not necessarily a dot, as in upstream) and `digits` letters and
/// digits.
fn is_id(name: &str, digits: usize) -> bool {
    let mut rest = name.get(3..).unwrap_or_default().chars();
    let any = rest.next().is_some_and(|c| c != '\n');
    let rest = rest.as_str();
    any && rest.len() == digits && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn lun(path: &Path<'_>, lun: i64, errors: &mut ErrorList) {
    if !(0..=255).contains(&lun) {
        errors.push(Error::invalid(path, lun, names::inclusive_range_error(0, 255)));
    }
}

/// Validates a Fibre Channel target: world wide names with a LUN, or world wide identifiers.
pub(crate) fn fibre_channel(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let targets = list(source, "targetWWNs");
    match (targets.is_empty(), list(source, "wwids").is_empty()) {
        (true, true) => {
            let detail = "must specify either targetWWNs or wwids, but not both";
            errors.push(Error::required(&path.child("targetWWNs"), detail));
        }
        (false, false) => {
            let detail = "targetWWNs and wwids can not be specified simultaneously";
            errors.push(Error::invalid(&path.child("targetWWNs"), &Value::from(targets), detail));
        }
        _ => {}
    }
    if targets.is_empty() {
        return;
    }
    match maybe_integer(source, "lun") {
        None => {
            errors.push(Error::required(&path.child("lun"), "lun is required if targetWWNs is specified"));
        }
        Some(number) => lun(&path.child("lun"), number, errors),
    }
}

/// Validates a Flocker dataset, by name or by identifier.
pub(crate) fn flocker(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let name = text(source, "datasetName");
    match (name.is_empty(), text(source, "datasetUUID").is_empty()) {
        (true, true) => {
            errors.push(Error::required(path, "one of datasetName and datasetUUID is required"));
        }
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(Error::invalid(path, "resource", detail));
        }
        _ => {}
    }
    if name.contains('/') {
        errors.push(Error::invalid(&path.child("datasetName"), name, "must not contain '/'"));
    }
}

pub(crate) fn quobyte(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    let registry = text(source, "registry");
    if registry.is_empty() {
        errors.push(Error::required(&path.child("registry"), detail));
    } else if text(source, "tenant").len() > QUOBYTE_TENANT_BYTES_MAX {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(Error::required(&path.child("tenant"), detail));
    } else {
        let bad = registry.split(',').filter(|pair| !is_host_and_port(pair)).count();
        errors.push_times(bad, || Error::invalid(&path.child("registry"), registry, detail));
    }
    required(path, source, &["volume"], errors);
}

/// Splits like Go's `SplitHostPort`: the last colon is the only one outside of brackets.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else { return false };
    let host = match host.strip_prefix('[') {
        Some(inner) => match inner.strip_suffix(']') {
            Some(inner) => inner,
            None => return false,
        },
        None if host.contains(':') => return false,
        None => host,
    };
    !host.contains(['[', ']']) && !port.contains(['[', ']'])
}

/// Validates a FlexVolume driver; its options must not use Kubernetes' own names.
pub(crate) fn flex(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    required(path, source, &["driver"], errors);
    let path = path.child("options");
    for key in child(source, "options").into_iter().flat_map(Object::keys) {
        let namespace = key.split_once('/').map_or(key.as_str(), |(namespace, _)| namespace);
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(Error::invalid(&path.key(key), key.as_str(), detail));
        }
    }
}

pub(crate) fn azure_disk(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    required(path, source, &["diskName", "diskURI"], errors);
    if let Some(mode) = maybe_text(source, "cachingMode") {
        supported_value(&path.child("cachingMode"), mode, &["None", "ReadOnly", "ReadWrite"], errors);
    }
    let Some(kind) = maybe_text(source, "kind") else { return };
    supported_value(&path.child("kind"), kind, &["Dedicated", "Managed", "Shared"], errors);
    let uri = text(source, "diskURI");
    let (prefix, example) = match kind {
        "Managed" => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        _ => ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
    };
    if !uri.starts_with(prefix) {
        errors.push(Error::not_supported(&path.child("diskURI"), uri, &[example]));
    }
}

/// Validates a StorageOS volume. `secret` lists the members that a secret reference must have.
pub(crate) fn storage_os(path: &Path<'_>, source: &Object, secret: &[&str], errors: &mut ErrorList) {
    match text(source, "volumeName") {
        "" => errors.push(Error::required(&path.child("volumeName"), "")),
        name => dns_label(&path.child("volumeName"), name, errors),
    }
    let namespace = text(source, "volumeNamespace");
    if !namespace.is_empty() {
        dns_label(&path.child("volumeNamespace"), namespace, errors);
    }
    secret_ref(path, source, secret, errors);
}

/// Validates the name of a CSI driver: a DNS subdomain in any case, of at most 63 bytes. `path` is that of
/// the name.
pub(crate) fn csi_driver(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    if name.len() > CSI_DRIVER_BYTES_MAX {
        errors.push(Error::too_long(path, Some(CSI_DRIVER_BYTES_MAX)));
    }
    let messages = names::is_dns1123_subdomain(&name.to_lowercase());
    super::value::invalid_each(path, name, messages, errors);
}

/// Validates a CSI volume that is defined inline in a pod. The path of the secret's name is upstream's.
pub(crate) fn inline_csi(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    csi_driver(&path.child("driver"), text(source, "driver"), errors);
    if let Some(secret) = child(source, "nodePublishSecretRef") {
        match text(secret, "name") {
            "" => {
                let path = path.child("nodePublishSecretRef");
                errors.push(Error::required(&path.child("name"), ""));
            }
            name => dns_subdomain(&path.child("name"), name, errors),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jsontree::json;

    type Rule = fn(&Path<'_>, &Object, &mut ErrorList);

    fn check(rule: Rule, source: Value, expected: &[(&str, &str)]) {
        let mut errors = ErrorList::new();
        rule(&Path::root("v"), source.as_object().unwrap(), &mut errors);
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{source}");
    }

    const REQUIRED: &str = "FieldValueRequired";
    const INVALID: &str = "FieldValueInvalid";

    #[test]
    fn iscsi_names_have_one_of_three_formats() {
        let rule: Rule = |path, source, errors| iscsi(path, source, "bad", errors);
        let one = |iqn: &str| json!({"targetPortal": "p", "iqn": iqn});
        for good in
            ["iqn.2015-02.example.com:test", "eui.0123456789abcdef", "naa.0123456789abcdef0123456789abcdef"]
        {
            check(rule, one(good), &[]);
        }
        for bad in [
            "x",
            "iqn.2015-02.example.com",
            "iqn.15-02.example.com:a",
            "iqn.2015-02.example.com:a b",
            "eui.x",
            "naa.0",
        ] {
            check(rule, one(bad), &[(INVALID, "v.iqn")]);
        }
        check(
            rule,
            json!({"lun": 256, "chapAuthSession": true}),
            &[
                (REQUIRED, "v.targetPortal"),
                (REQUIRED, "v.iqn"),
                (INVALID, "v.lun"),
                (REQUIRED, "v.secretRef"),
            ],
        );
    }

    #[test]
    fn fibre_channel_target_has_one_name_kind() {
        check(fibre_channel, json!({"targetWWNs": ["a"], "lun": 0}), &[]);
        check(fibre_channel, json!({"wwids": ["a"]}), &[]);
        check(fibre_channel, json!({}), &[(REQUIRED, "v.targetWWNs")]);
        check(
            fibre_channel,
            json!({"targetWWNs": ["a"], "wwids": ["b"]}),
            &[(INVALID, "v.targetWWNs"), (REQUIRED, "v.lun")],
        );
        check(fibre_channel, json!({"targetWWNs": ["a"], "lun": -1}), &[(INVALID, "v.lun")]);
    }

    #[test]
    fn registries_are_hosts_with_ports() {
        check(quobyte, json!({"registry": "a:1,[::1]:2", "volume": "v"}), &[]);
        check(
            quobyte,
            json!({"registry": "a,b:1:2", "volume": "v"}),
            &[(INVALID, "v.registry"), (INVALID, "v.registry")],
        );
        check(quobyte, json!({}), &[(REQUIRED, "v.registry"), (REQUIRED, "v.volume")]);
    }

    /// Each error quotes the whole text. Building all of them would take minutes.
    #[test]
    fn errors_of_long_registry_are_only_counted() {
        let source = json!({"registry": "0,".repeat(1_000_000), "volume": "v"});
        let mut errors = ErrorList::new();
        quobyte(&Path::root("v"), source.as_object().unwrap(), &mut errors);
        assert_eq!((errors.len(), errors.iter().count()), (1_000_001, 1));
    }

    #[test]
    fn disks_have_a_location() {
        check(azure_disk, json!({"diskName": "d", "diskURI": "u"}), &[]);
        check(
            azure_disk,
            json!({"diskName": "d", "diskURI": "u", "kind": "Managed"}),
            &[("FieldValueNotSupported", "v.diskURI")],
        );
        let rule: Rule = |path, source, errors| partitioned_disk(path, source, "pdName", errors);
        check(rule, json!({"partition": 256}), &[(REQUIRED, "v.pdName"), (INVALID, "v.partition")]);
        check(rule, json!({"pdName": "d"}), &[]);
        check(nfs, json!({"server": "s", "path": "a"}), &[(INVALID, "v.path")]);
        check(
            host_path,
            json!({"path": "/a/../b", "type": "x"}),
            &[(INVALID, "v.path"), ("FieldValueNotSupported", "v.type")],
        );
    }

    #[test]
    fn drivers_are_named_like_domains() {
        check(inline_csi, json!({"driver": "CSI.example.com"}), &[]);
        check(
            inline_csi,
            json!({"driver": "-", "nodePublishSecretRef": {}}),
            &[(INVALID, "v.driver"), (REQUIRED, "v.nodePublishSecretRef.name")],
        );
        check(
            flex,
            json!({"driver": "d", "options": {"a.k8s.io/x": "", "b": ""}}),
            &[(INVALID, "v.options[a.k8s.io/x]")],
        );
        check(flocker, json!({"datasetName": "a/b"}), &[(INVALID, "v.datasetName")]);
    }
}
