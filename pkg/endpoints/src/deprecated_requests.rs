//! Metric of requested deprecated APIs (upstream's `apiserver_requested_deprecated_apis`). It shows an
//! operator before an upgrade if clients still use them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use api::resources::Resource;
use apimachinery::request_notes::Notes;

const NAME: &str = "apiserver_requested_deprecated_apis";
/// Maximum number of recorded versions. Upstream has no limit, but versions of custom resources come and go.
const SEEN_MAX: usize = 4096;

/// Deprecated versions that clients have requested. Only requests for these take the lock.
#[derive(Default)]
pub struct DeprecatedRequests(Mutex<BTreeSet<String>>);

impl DeprecatedRequests {
    /// Records a request for a deprecated version, here and as an audit annotation.
    pub(crate) fn note(&self, row: &Resource<'_>, notes: &Notes) {
        let removed = match (row.custom, row.lifecycle.removed) {
            (None, Some(minor)) => format!("1.{minor}"),
            _ => String::new(),
        };
        notes.annotate("k8s.io/deprecated", "true");
        if !removed.is_empty() {
            notes.annotate("k8s.io/removed-release", removed.as_str());
        }
        let labels = format!(
            "group=\"{}\",removed_release=\"{removed}\",resource=\"{}\",subresource=\"{}\",version=\"{}\"",
            row.group, row.plural, row.subresource, row.version
        );
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < SEEN_MAX {
            seen.insert(labels);
        }
    }

    /// Appends the metric in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is_empty() {
            return;
        }
        let help = "Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.";
        let _ = writeln!(out, "# HELP {NAME} [STABLE] {help}\n# TYPE {NAME} gauge");
        for labels in &*seen {
            let _ = writeln!(out, "{NAME}{{{labels}}} 1");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn deprecated_api_is_reported_once_with_removal_release() {
        let requests = DeprecatedRequests::default();
        let mut page = String::new();
        let notes = Notes::default();
        requests.write(&mut page);
        assert_eq!(page, "");
        for (group, version, plural) in [
            ("", "v1", "endpoints"),
            ("resource.k8s.io", "v1beta1", "deviceclasses"),
            ("", "v1", "endpoints"),
        ] {
            requests.note(api::resources::find(group, version, plural, "").unwrap(), &notes);
        }
        let annotations = notes.annotations();
        assert_eq!(
            annotations,
            [
                ("k8s.io/deprecated".into(), "true".to_owned()),
                ("k8s.io/removed-release".into(), "1.38".to_owned())
            ]
        );
        requests.write(&mut page);
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
