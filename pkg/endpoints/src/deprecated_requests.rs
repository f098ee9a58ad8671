//! Metric of requested deprecated APIs (upstream's `apiserver_requested_deprecated_apis`). It shows an
//! operator before an upgrade if clients still use them.

use api::resources::Resource;
use apimachinery::request_notes::Notes;
use component_base::metrics::{Family, Gauge, GaugeVec, MetricsRegistry, Stability};

const REQUESTED: Family<Gauge, 5> = Family::gauge(
    Stability::Stable,
    "apiserver_requested_deprecated_apis",
    "Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.",
    ["group", "removed_release", "resource", "subresource", "version"],
);

/// Deprecated versions that clients have requested. Only requests for these take the lock.
pub struct DeprecatedRequests(GaugeVec<5>);

impl DeprecatedRequests {
    pub fn new(registry: &MetricsRegistry) -> Self {
        DeprecatedRequests(registry.register_vec(&REQUESTED))
    }

    /// Records a request for a deprecated version, here and as an audit annotation.
    pub(crate) fn record(&self, row: &Resource<'_>, notes: &Notes) {
        let removed = match (row.custom, row.lifecycle.removed) {
            (None, Some(minor)) => format!("1.{minor}"),
            _ => String::new(),
        };
        notes.annotate("k8s.io/deprecated", "true");
        if !removed.is_empty() {
            notes.annotate("k8s.io/removed-release", removed.as_str());
        }
        self.0.with([row.group, &removed, row.plural, row.subresource, row.version]).set(1);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn deprecated_api_is_reported_once_with_removal_release() {
        let registry = MetricsRegistry::default();
        let requests = DeprecatedRequests::new(&registry);
        let notes = Notes::default();
        assert_eq!(registry.to_string(), "");
        for (group, version, plural) in [
            ("", "v1", "endpoints"),
            ("resource.k8s.io", "v1beta1", "deviceclasses"),
            ("", "v1", "endpoints"),
        ] {
            requests.record(api::resources::find(group, version, plural, "").unwrap(), &notes);
        }
        let annotations = notes.annotations();
        assert_eq!(
            annotations,
            [
                ("k8s.io/deprecated".into(), "true".to_owned()),
                ("k8s.io/removed-release".into(), "1.38".to_owned())
            ]
        );
        let page = registry.to_string();
        let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                r#"apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1"#,
                r#"apiserver_requested_deprecated_apis{group="resource.k8s.io",removed_release="1.38",resource="deviceclasses",subresource="",version="v1beta1"} 1"#,
            ]
        );
    }
}
