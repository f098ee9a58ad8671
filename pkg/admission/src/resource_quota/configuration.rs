//! `ResourceQuotaConfiguration` of `apiserver.config.k8s.io`, or `Configuration` of
//! `resourcequota.admission.k8s.io`: resources that require a quota (apiserver
//! `admission/plugin/resourcequota/apis`).

use api::resources::Resource;
use api::tree::{children, text, texts};
use apimachinery::field::{self, Error, Path};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use schema::object::Object;

use super::scope::Requirement;

use crate::PluginConfigurationError;

const SCOPE: Members = Members {
    name: "v1.ScopedResourceSelectorRequirement",
    all: &[("scopeName", Shape::Text), ("operator", Shape::Text), ("values", Shape::List(&Shape::Text))],
};
const LIMITED: Members = Members {
    name: "LimitedResource",
    all: &[
        ("apiGroup", Shape::Text),
        ("resource", Shape::Text),
        ("matchContains", Shape::List(&Shape::Text)),
        ("matchScopes", Shape::List(&Shape::Struct(&SCOPE))),
    ],
};
const OLD_GROUP: &str = "resourcequota.admission.k8s.io";
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[
        FileKind { group: "apiserver.config.k8s.io", version: "v1", kind: "ResourceQuotaConfiguration" },
        FileKind { group: OLD_GROUP, version: "v1beta1", kind: "Configuration" },
        FileKind { group: OLD_GROUP, version: "v1alpha1", kind: "Configuration" },
    ],
    scheme: "k8s.io/apiserver/pkg/admission/plugin/resourcequota/config.go:31",
    strict: true,
    members: &Members {
        name: "Configuration",
        all: &[("limitedResources", Shape::List(&Shape::Struct(&LIMITED)))],
    },
};

/// Resources that require a quota; none by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaConfiguration {
    pub(super) limited: Vec<LimitedResource>,
}

/// A resource that requires a quota for some of its usage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LimitedResource(Object);

impl QuotaConfiguration {
    /// Parses YAML or JSON.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: &[u8]) -> Result<Self, PluginConfigurationError> {
        let members = FILE.read(text)?.members;
        let limited = children(&members, "limitedResources").cloned().map(LimitedResource);
        let configuration = QuotaConfiguration { limited: limited.collect() };
        match field::aggregate(&configuration.errors()) {
            None => Ok(configuration),
            Some(errors) => Err(PluginConfigurationError::Invalid(errors)),
        }
    }

    fn errors(&self) -> Vec<Error> {
        let list = Path::root("limitedResources");
        let unnamed = self
            .limited
            .iter()
            .enumerate()
            .filter(|(_, LimitedResource(of))| text(of, "resource").is_empty());
        unnamed.map(|(index, _)| Error::required(&list.index(index).child("resource"), "")).collect()
    }
}

impl LimitedResource {
    /// True if the entry applies to a resource.
    pub(super) fn applies_to(&self, row: &Resource<'_>) -> bool {
        (text(&self.0, "apiGroup"), text(&self.0, "resource")) == (row.group, row.plural)
    }

    /// True if the entry requires a quota for this counted resource name.
    pub(super) fn names(&self, name: &str) -> bool {
        texts(&self.0, "matchContains").any(|part| name.contains(part))
    }

    /// Returns the scopes that require a quota.
    pub(super) fn scopes(&self) -> impl Iterator<Item = Requirement<'_>> {
        children(&self.0, "matchScopes").map(Requirement::of)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn configuration_lists_limited_resources() {
        for head in [
            "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n",
            "apiVersion: resourcequota.admission.k8s.io/v1beta1\nkind: Configuration\n",
            "apiVersion: resourcequota.admission.k8s.io/v1alpha1\nkind: Configuration\n",
        ] {
            let text = format!("{head}limitedResources: [{{resource: pods, matchContains: [cpu]}}]");
            let read = QuotaConfiguration::parse(text.as_bytes()).unwrap();
            let [limited] = read.limited.as_slice() else { panic!("{read:?}") };
            assert!(limited.names("requests.cpu") && !limited.names("memory"));
            assert!(limited.applies_to(api::resources::find("", "v1", "pods", "").unwrap()));
        }
    }

    #[test]
    fn invalid_configuration_fails_with_upstream_messages() {
        let check = |text: &str, expected: &str| {
            let error = QuotaConfiguration::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n";
        check(&format!("{head}limitedResources: [{{}}]"), "limitedResources[0].resource: Required value");
        check(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: Configuration\n",
            "no kind \"Configuration\" is registered for version \"apiserver.config.k8s.io/v1\" in scheme \"k8s.io/apiserver/pkg/admission/plugin/resourcequota/config.go:31\"",
        );
        check(
            &format!("{head}limitedResources: [{{matchScopes: [{{scope: a}}]}}]"),
            "strict decoding error: unknown field \"limitedResources[0].matchScopes[0].scope\"",
        );
    }
}
