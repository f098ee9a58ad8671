//! The name rule of each built-in resource.

use api::name_rule::NameRule;

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
        _ => api::resources::groups().iter().any(|known| known.name == group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};
    use schema::object::Object;

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
