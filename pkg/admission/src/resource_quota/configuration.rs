//! What nobody uses without a quota for it: `ResourceQuotaConfiguration` of `apiserver.config.k8s.io`, or
//! `Configuration` of `resourcequota.admission.k8s.io` (apiserver `admission/plugin/resourcequota/apis`).

use api::resources::Resource;
use api::tree::{children, text, texts};
use apimachinery::field::{self, Error, Path};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use schema::object::Object;

use super::scope::Requirement;

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

/// What nobody uses without a quota for it; by default there is nothing of the kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaConfiguration {
    pub(super) limited: Vec<LimitedResource>,
}

/// A resource of which some uses need a quota.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LimitedResource(Object);

impl QuotaConfiguration {
    /// Reads a text, YAML or JSON.
    ///
    /// # Errors
    /// What upstream says of the text.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let members = FILE.read(text)?.members;
        let limited = children(&members, "limitedResources").cloned().map(LimitedResource);
        let configuration = QuotaConfiguration { limited: limited.collect() };
        match field::aggregate(&configuration.errors()) {
            None => Ok(configuration),
            Some(errors) => Err(errors),
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
    /// Whether this limits a resource.
    pub(super) fn is_about(&self, row: &Resource<'_>) -> bool {
        (text(&self.0, "apiGroup"), text(&self.0, "resource")) == (row.group, row.plural)
    }

    /// Whether it limits what quotas count by this name.
    pub(super) fn names(&self, name: &str) -> bool {
        texts(&self.0, "matchContains").any(|part| name.contains(part))
    }

    /// The scopes for whose objects there has to be a quota.
    pub(super) fn scopes(&self) -> impl Iterator<Item = Requirement<'_>> {
        children(&self.0, "matchScopes").map(Requirement::of)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_text_says_what_needs_a_quota() {
        for head in [
            "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n",
            "apiVersion: resourcequota.admission.k8s.io/v1beta1\nkind: Configuration\n",
            "apiVersion: resourcequota.admission.k8s.io/v1alpha1\nkind: Configuration\n",
        ] {
            let text = format!("{head}limitedResources: [{{resource: pods, matchContains: [cpu]}}]");
            let read = QuotaConfiguration::parse(text.as_bytes()).unwrap();
            let [limited] = read.limited.as_slice() else { panic!("{read:?}") };
            assert!(limited.names("requests.cpu") && !limited.names("memory"));
            assert!(limited.is_about(api::resources::find("", "v1", "pods", "").unwrap()));
        }
    }

    #[test]
    fn a_text_is_refused_in_upstreams_words() {
        let check = |text: &str, expected: &str| {
            assert_eq!(QuotaConfiguration::parse(text.as_bytes()), Err(expected.to_owned()));
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
