//! Registered kinds of request bodies. Upstream chains three API servers, each with its own scheme. An
//! endpoint accepts the kinds of its own server only.

pub(crate) use api::scheme::AGGREGATOR_GROUP;
use api::scheme::{APIEXTENSIONS_GROUP, scheme_name};
use apimachinery::gvk::split_api_version;
use schema::builtin;
use schema::json::errors;
use schema::table::Message;

/// Scheme of one of upstream's API servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Scheme of all groups except the two below.
    Legacy,
    /// Scheme of CRDs.
    Apiextensions,
    /// Scheme of APIServices.
    Aggregator,
}

/// Error about a kind that is not registered in a scheme, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotRegisteredError(String);

impl Scheme {
    /// Returns the scheme of the server with this group version.
    pub(crate) fn of(api_version: &str) -> Self {
        match split_api_version(api_version).0 {
            APIEXTENSIONS_GROUP => Scheme::Apiextensions,
            AGGREGATOR_GROUP => Scheme::Aggregator,
            _ => Scheme::Legacy,
        }
    }

    /// Name of the scheme in error messages.
    fn name(self) -> &'static str {
        scheme_name(match self {
            Scheme::Legacy => "",
            Scheme::Apiextensions => APIEXTENSIONS_GROUP,
            Scheme::Aggregator => AGGREGATOR_GROUP,
        })
    }

    /// Returns the type of a kind.
    ///
    /// # Errors
    /// The kind is not registered, in upstream's wording.
    pub(crate) fn kind(self, api_version: &str, kind: &str) -> Result<&'static Message, NotRegisteredError> {
        let registered = builtin::kind(api_version, kind).filter(|message| {
            // Kinds of all groups are also registered as `v1` in each scheme.
            let everywhere = api_version == "v1" && message.info.kinds.iter().any(|k| k.starts_with("*/"));
            (Scheme::of(api_version) == self || everywhere) && !message.info.unregistered
        });
        registered.ok_or_else(|| NotRegisteredError(errors::not_registered(kind, api_version, self.name())))
    }

    /// Error for a kind that is not in the internal version of its group.
    pub(crate) fn not_registered_internal(self, kind: &str, group: &str) -> NotRegisteredError {
        NotRegisteredError(errors::not_registered_internal(kind, group, self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_contains_own_and_common_kinds() {
        let check = |endpoint: &str, api_version: &str, kind: &str, expected: bool| {
            let kind_result = Scheme::of(endpoint).kind(api_version, kind);
            assert_eq!(kind_result.is_ok(), expected, "{endpoint}: {api_version} {kind}: {kind_result:?}");
        };
        check("v1", "v1", "Pod", true);
        check("v1", "apps/v1", "Deployment", true);
        check("v1", "scheduling.k8s.io/v1alpha2", "PodGroup", false);
        check("v1", "apiregistration.k8s.io/v1", "APIService", false);
        check("apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1", "APIService", true);
        check("apiregistration.k8s.io/v1", "v1", "Secret", false);
        check("apiregistration.k8s.io/v1", "v1", "DeleteOptions", true);
        check("apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "APIService", false);
        check("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1", "CustomResourceDefinition", true);
    }

    #[test]
    fn scheme_name_is_source_line() {
        let error = Scheme::of("apiregistration.k8s.io/v1").kind("v1", "Secret").err();
        let expected = "no kind \"Secret\" is registered for version \"v1\" in scheme \
                        \"k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28\"";
        assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(expected));
    }
}
