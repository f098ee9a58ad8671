//! Which kinds a body can be of. Upstream is three API servers in a row, each with a scheme of its own,
//! and an endpoint knows the kinds of its own server alone.

use apimachinery::gvk::split_api_version;
use schema::builtin;
use schema::json::errors;
use schema::table::Message;

const APIEXTENSIONS_GROUP: &str = "apiextensions.k8s.io";
/// The group of API services, which upstream's aggregator serves itself.
pub(crate) const AGGREGATOR_GROUP: &str = "apiregistration.k8s.io";

/// The kinds that one of upstream's API servers knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Of everything but the two below.
    Legacy,
    /// Of custom resource definitions.
    Apiextensions,
    /// Of API services.
    Aggregator,
}

impl Scheme {
    /// That of the server with this group version.
    pub(crate) fn of(api_version: &str) -> Self {
        match split_api_version(api_version).0 {
            APIEXTENSIONS_GROUP => Scheme::Apiextensions,
            AGGREGATOR_GROUP => Scheme::Aggregator,
            _ => Scheme::Legacy,
        }
    }

    /// The line of upstream's source that makes it, which messages call it by.
    fn name(self) -> &'static str {
        match self {
            Scheme::Legacy => "pkg/api/legacyscheme/scheme.go:30",
            Scheme::Apiextensions => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
            Scheme::Aggregator => "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
        }
    }

    /// The shape of a kind.
    ///
    /// # Errors
    /// That the kind is not registered, in upstream's words.
    pub(crate) fn kind(self, api_version: &str, kind: &str) -> Result<&'static Message, String> {
        let known = builtin::kind(api_version, kind).filter(|message| {
            // What every group has is registered as v1 everywhere.
            let everywhere = api_version == "v1" && message.info.kinds.iter().any(|k| k.starts_with("*/"));
            Scheme::of(api_version) == self || everywhere
        });
        known.ok_or_else(|| errors::not_registered(kind, api_version, self.name()))
    }

    /// Message for a kind in upstream's own version of a group that does not have it.
    pub(crate) fn not_registered_internal(self, kind: &str, group: &str) -> String {
        errors::not_registered_internal(kind, group, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_knows_its_own_kinds_and_those_of_every_group() {
        let check = |endpoint: &str, api_version: &str, kind: &str, expected: bool| {
            let found = Scheme::of(endpoint).kind(api_version, kind);
            assert_eq!(found.is_ok(), expected, "{endpoint}: {api_version} {kind}: {found:?}");
        };
        check("v1", "v1", "Pod", true);
        check("v1", "apps/v1", "Deployment", true);
        check("v1", "apiregistration.k8s.io/v1", "APIService", false);
        check("apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1", "APIService", true);
        check("apiregistration.k8s.io/v1", "v1", "Secret", false);
        check("apiregistration.k8s.io/v1", "v1", "DeleteOptions", true);
        check("apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "APIService", false);
        check("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1", "CustomResourceDefinition", true);
    }

    #[test]
    fn a_scheme_is_called_by_the_line_that_makes_it() {
        let error = Scheme::of("apiregistration.k8s.io/v1").kind("v1", "Secret").err();
        let expected = "no kind \"Secret\" is registered for version \"v1\" in scheme \
                        \"k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28\"";
        assert_eq!(error.as_deref(), Some(expected));
    }
}
