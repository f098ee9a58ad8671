//! Which names objects of each resource may have.

use crate::tree::{child, text};
use apimachinery::names;
use schema::object::Object;

/// A rule for the names of a kind.
///
/// Whatever the rule, a name also has to fit into a path segment; the generic registry checks that
/// for every object with [`NameRule::PathSegment`] after the rule of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain (RFC 1123); most kinds.
    DnsSubdomain,
    /// A DNS subdomain, checked on the finished name only, never on `generateName`, and with a limit
    /// that is stated in bytes. Kinds whose checks upstream has turned into declarations.
    LongName,
    /// A DNS label (RFC 1123). Services too since 1.36 (KEP-5311).
    DnsLabel,
    /// A DNS label that starts with a letter (RFC 1035).
    Dns1035Label,
    /// Fits into one segment of a URL path; `generateName` may be a segment's beginning.
    PathSegment,
    /// As [`NameRule::PathSegment`], but `generateName` is judged as if it were finished. RBAC.
    FinishedPathSegment,
    /// A key of a ConfigMap. Lease candidates.
    ConfigMapKey,
    /// Anything at all. Certificate signing requests.
    Any,
    /// An IP address in canonical form.
    Ip,
    /// `<group>.<resource>`. Storage versions.
    GroupAndResource,
    /// A DNS subdomain, prefixed with the signer's name if `spec.signerName` is set.
    ClusterTrustBundle,
    /// `spec.version`, a dot and `spec.group`.
    ApiService,
    /// `spec.names.plural`, a dot and `spec.group`.
    CustomResourceDefinition,
}

impl NameRule {
    /// What is wrong with a name, or with a `generateName` if `prefix`. Some rules read the object.
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
            Self::Ip => super::is_valid_ip(name),
            Self::GroupAndResource => group_and_resource(name),
            Self::ClusterTrustBundle => cluster_trust_bundle(object, name, prefix),
            Self::ApiService => api_service(object, name),
            Self::CustomResourceDefinition => custom_resource_definition(object, name, prefix),
        }
    }

    /// Whether `generateName` is checked beside the name made from it.
    pub(super) fn checks_generate_name(self) -> bool {
        self != Self::LongName
    }
}

pub(super) fn long_name(name: &str) -> Vec<String> {
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

/// The rule for the names of a built-in resource. Custom resources have [`NameRule::DnsSubdomain`],
/// as have the built-in ones that are not listed.
pub fn name_rule(group: &str, plural: &str) -> NameRule {
    match (group, plural) {
        ("", "namespaces" | "services") | ("apps", "statefulsets") => NameRule::DnsLabel,
        ("", "replicationcontrollers") | ("resource.k8s.io", "deviceclasses") => NameRule::LongName,
        ("rbac.authorization.k8s.io", _) => NameRule::FinishedPathSegment,
        // Events of `v1` keep the loose rules from before `events.k8s.io` shared their storage.
        ("", "events") | ("policy", "poddisruptionbudgets") => NameRule::PathSegment,
        ("coordination.k8s.io", "leasecandidates") => NameRule::ConfigMapKey,
        ("certificates.k8s.io", "certificatesigningrequests") => NameRule::Any,
        ("certificates.k8s.io", "clustertrustbundles") => NameRule::ClusterTrustBundle,
        ("networking.k8s.io", "ipaddresses") => NameRule::Ip,
        ("internal.apiserver.k8s.io", "storageversions") => NameRule::GroupAndResource,
        ("apiregistration.k8s.io", "apiservices") => NameRule::ApiService,
        ("apiextensions.k8s.io", "customresourcedefinitions") => NameRule::CustomResourceDefinition,
        _ => NameRule::DnsSubdomain,
    }
}

/// Whether finalizers of a resource must be qualified (`example.com/x`) unless they are one of the
/// three that Kubernetes itself uses. Custom resources and a few built-in ones may have any.
pub fn requires_qualified_finalizers(group: &str, plural: &str) -> bool {
    match (group, plural) {
        (
            "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "apiregistration.k8s.io"
            | "coordination.k8s.io"
            | "node.k8s.io",
            _,
        )
        | ("", "events")
        | ("policy", "poddisruptionbudgets") => false,
        _ => crate::resources::groups().iter().any(|known| known.name == group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
        characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
        'example.com', regex used for validation is \
        '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    fn check(group: &str, plural: &str, spec: Value, name: &str, expected: &[&str]) {
        let object = Object::from_iter([("spec".to_owned(), spec)]);
        assert_eq!(name_rule(group, plural).check(&object, name, false), expected, "{plural} {name}");
    }

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        check("", "pods", json!({}), "a.b", &[]);
        check("", "pods", json!({}), "A_", &[SUBDOMAIN]);
        check("", "services", json!({}), "1a", &[]);
        check("", "services", json!({}), "a.b", &["must not contain dots"]);
        check("rbac.authorization.k8s.io", "roles", json!({}), "system:x Y", &[]);
        check("rbac.authorization.k8s.io", "roles", json!({}), "a%b", &["may not contain '%'"]);
        check("rbac.authorization.k8s.io", "roles", json!({}), "..", &["may not be '..'"]);
        check("networking.k8s.io", "ipaddresses", json!({}), "10.0.0.1", &[]);
        check("networking.k8s.io", "ipaddresses", json!({}), "010.0.0.1", &["must not have leading 0s"]);
        check("certificates.k8s.io", "certificatesigningrequests", json!({}), "A b/c", &[]);
        check("policy", "poddisruptionbudgets", json!({}), "A_b", &[]);
        check("", "events", json!({}), "A_", &[]);
        check("events.k8s.io", "events", json!({}), "A_", &[SUBDOMAIN]);
        check(
            "internal.apiserver.k8s.io",
            "storageversions",
            json!({}),
            "apps",
            &["name must be in the form of <group>.<resource>"],
        );
    }

    #[test]
    fn some_names_depend_on_the_spec() {
        let spec = json!({"group": "example.com", "version": "v1", "names": {"plural": "widgets"}});
        let crd = ("apiextensions.k8s.io", "customresourcedefinitions");
        check(crd.0, crd.1, spec.clone(), "widgets.example.com", &[]);
        check(crd.0, crd.1, spec.clone(), "a.b", &["must be spec.names.plural+\".\"+spec.group"]);
        check(crd.0, crd.1, spec.clone(), "A_", &[SUBDOMAIN, "must be spec.names.plural+\".\"+spec.group"]);
        let service = ("apiregistration.k8s.io", "apiservices");
        check(service.0, service.1, spec.clone(), "v1.example.com", &[]);
        check(
            service.0,
            service.1,
            spec.clone(),
            "v1.x",
            &["must be `spec.version+\".\"+spec.group`: \"v1.example.com\""],
        );
        check(service.0, service.1, spec, "a/b", &["may not contain '/'"]);
        let bundle = ("certificates.k8s.io", "clustertrustbundles");
        let signed = json!({"signerName": "example.com/s"});
        check(bundle.0, bundle.1, signed.clone(), "example.com:s:a", &[]);
        check(
            bundle.0,
            bundle.1,
            signed,
            "a",
            &["ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:"],
        );
        check(bundle.0, bundle.1, json!({}), "a", &[]);
        check(
            bundle.0,
            bundle.1,
            json!({}),
            "a:b",
            &["ClusterTrustBundle without signer name must not have \":\" in its name"],
        );
    }

    #[test]
    fn a_long_name_counts_bytes() {
        let name = "x".repeat(254);
        let check = |group, plural, expected: &str| {
            assert_eq!(name_rule(group, plural).check(&Object::new(), &name, false), [expected]);
        };
        check("", "replicationcontrollers", "must be no more than 253 bytes");
        check("", "configmaps", "must be no more than 253 characters");
    }

    #[test]
    fn custom_resources_may_have_bare_finalizers() {
        assert!(requires_qualified_finalizers("", "pods"));
        assert!(requires_qualified_finalizers("rbac.authorization.k8s.io", "roles"));
        assert!(requires_qualified_finalizers("events.k8s.io", "events"));
        assert!(!requires_qualified_finalizers("", "events"));
        assert!(!requires_qualified_finalizers("coordination.k8s.io", "leases"));
        assert!(!requires_qualified_finalizers("example.com", "widgets"));
    }
}
