//! Names of the schemes of upstream's API servers in error texts.

/// Group of CRDs, which have a scheme of their own.
pub const APIEXTENSIONS_GROUP: &str = "apiextensions.k8s.io";
/// Group of APIServices, which upstream's aggregator serves itself.
pub const AGGREGATOR_GROUP: &str = "apiregistration.k8s.io";

/// Returns the name of a group's scheme: the line of upstream's source that creates it.
pub fn scheme_name(group: &str) -> &'static str {
    match group {
        APIEXTENSIONS_GROUP => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56",
        AGGREGATOR_GROUP => "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
        _ => "pkg/api/legacyscheme/scheme.go:30",
    }
}
