//! Name rules of each resource.

use crate::tree::{child, text};
use apimachinery::names;
use schema::object::Object;

/// Rule for the names of a kind.
///
/// Every name must also fit into a path segment. The generic registry checks this for every object with
/// [`NameRule::PathSegment`], after the rule of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain (RFC 1123); most kinds.
    DnsSubdomain,
    /// A DNS subdomain. Only the final name is checked, never `generateName`, and the text of the length
    /// limit uses bytes. For kinds with declarative validation in upstream.
    LongName,
    /// A DNS label (RFC 1123). Services too since 1.36 (KEP-5311).
    DnsLabel,
    /// A DNS label that starts with a letter (RFC 1035).
    Dns1035Label,
    /// Fits into one segment of a URL path; `generateName` may be the start of a segment.
    PathSegment,
    /// Like [`NameRule::PathSegment`], but `generateName` is checked like a final name. RBAC.
    FinishedPathSegment,
    /// A key of a ConfigMap; lease candidates.
    ConfigMapKey,
    /// Any name; certificate signing requests.
    Any,
    /// An IP address in canonical form.
    Ip,
    /// `<group>.<resource>`; storage versions.
    GroupAndResource,
    /// A DNS subdomain, prefixed with the signer's name if `spec.signerName` is set.
    ClusterTrustBundle,
    /// `spec.version`, a dot and `spec.group`.
    ApiService,
    /// `spec.names.plural`, a dot and `spec.group`.
    CustomResourceDefinition,
}

impl NameRule {
    /// Returns the errors of a name, or of a `generateName` if `prefix`. Some rules depend on the object.
    pub fn check(self, object: &Object, name: &str, prefix: bool) -> Vec<String> {
        match self {
            Self::DnsSubdomain => names::name_is_dns_subdomain(name, prefix),
            Self::LongName => long_name(name),
            Self::DnsLabel => names::name_is_dns_label(name, prefix),
            Self::Dns1035Label => names::name_is_dns1035_label(name, prefix),
            Self::PathSegment => names::name_is_path_segment(name, prefix),
            Self::FinishedPathSegment => names::is_path_segment_name(name),
            Self::ConfigMapKey => names::is_config_map_key(name),
            Self::Any => Vec::new(),
            Self::Ip => crate::ip::is_valid_ip(name),
            Self::GroupAndResource => group_and_resource(name),
            Self::ClusterTrustBundle => cluster_trust_bundle(object, name, prefix),
            Self::ApiService => api_service(object, name),
            Self::CustomResourceDefinition => custom_resource_definition(object, name, prefix),
        }
    }

    /// True if `generateName` is checked in addition to the generated name.
    pub(crate) fn checks_generate_name(self) -> bool {
        self != Self::LongName
    }
}

pub fn long_name(name: &str) -> Vec<String> {
    let max = names::DNS1123_SUBDOMAIN_BYTES_MAX;
    let mut errors = names::is_dns1123_subdomain(name);
    if let (true, Some(first)) = (name.len() > max, errors.first_mut()) {
        *first = names::max_len_bytes_error(max);
    }
    errors
}

fn group_and_resource(name: &str) -> Vec<String> {
    let Some((group, resource)) = name.rsplit_once('.') else {
        return vec!["name must be in the form of <group>.<resource>".to_owned()];
    };
    let group = names::is_dns1123_subdomain(group).into_iter();
    let resource = names::is_dns1035_label(resource).into_iter();
    group
        .map(|error| format!("the group segment {error}"))
        .chain(resource.map(|error| format!("the resource segment {error}")))
        .collect()
}

fn cluster_trust_bundle(object: &Object, name: &str, prefix: bool) -> Vec<String> {
    let signer = spec_text(object, "signerName");
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return names::name_is_dns_subdomain(name, prefix);
    }
    let required = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&required) {
        Some(rest) => names::name_is_dns_subdomain(rest, prefix),
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {required}")]
        }
    }
}

fn api_service(object: &Object, name: &str) -> Vec<String> {
    let errors = names::is_path_segment_name(name);
    if !errors.is_empty() {
        return errors;
    }
    let required = format!("{}.{}", spec_text(object, "version"), spec_text(object, "group"));
    if name == required {
        return Vec::new();
    }
    let required = apimachinery::go_quote::Quoted(&required);
    vec![format!("must be `spec.version+\".\"+spec.group`: {required}")]
}

fn custom_resource_definition(object: &Object, name: &str, prefix: bool) -> Vec<String> {
    let mut errors = names::name_is_dns_subdomain(name, prefix);
    let plural =
        child(object, "spec").and_then(|spec| child(spec, "names")).map_or("", |n| text(n, "plural"));
    let required = name.strip_prefix(plural).and_then(|rest| rest.strip_prefix('.'));
    if required != Some(spec_text(object, "group")) {
        errors.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    errors
}

fn spec_text<'o>(object: &'o Object, name: &str) -> &'o str {
    child(object, "spec").map_or("", |spec| text(spec, name))
}
