//! Metrics of OpenAPI changes by CRDs, with upstream's names (apiextensions-apiserver
//! `controller/openapi/metrics.go`). Upstream registers these metrics but never increments them. The
//! documents are rebuilt on the next request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use component_base::metrics::{Family, Stability};
use server::metrics::Collector;

const V2: Family = Family::counter(
    Stability::Alpha,
    "apiextensions_openapi_v2_regeneration_count",
    "Changes of the OpenAPI v2 document, by the definition that caused them and why.",
);
const V3: Family = Family::counter(
    Stability::Alpha,
    "apiextensions_openapi_v3_regeneration_count",
    "Changes of OpenAPI v3 documents, by the definition that caused them and why.",
);

/// Maximum number of series. Those of deleted CRDs are retained, as in upstream.
const SERIES_MAX: usize = 16_384;

/// Reason of a document change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Add,
    Remove,
    Update,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Add => "add",
            Reason::Remove => "remove",
            Reason::Update => "update",
        }
    }
}

#[derive(Default)]
struct Counts {
    /// By CRD and reason.
    v2: BTreeMap<(String, Reason), u64>,
    /// By CRD, group, reason and version.
    v3: BTreeMap<(String, String, Reason, String), u64>,
}

/// Numbers of document changes by CRDs.
#[derive(Default)]
pub struct DefinitionFigures(Mutex<Counts>);

impl DefinitionFigures {
    /// Records that a CRD of a group changed the documents of these versions.
    pub(super) fn changed<'v>(
        &self,
        definition: &str,
        group: &str,
        reason: Reason,
        versions: impl Iterator<Item = &'v str>,
    ) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.v3.len() >= SERIES_MAX {
            return;
        }
        *counts.v2.entry((definition.to_owned(), reason)).or_default() += 1;
        for version in versions {
            let series = (definition.to_owned(), group.to_owned(), reason, version.to_owned());
            *counts.v3.entry(series).or_default() += 1;
        }
    }
}

impl Collector for DefinitionFigures {
    fn collect(&self, out: &mut String) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut samples = V2.write(out);
        for ((definition, reason), count) in &counts.v2 {
            samples.add(&[("crd", definition), ("reason", reason.name())], count);
        }
        let mut samples = V3.write(out);
        for ((definition, group, reason, version), count) in &counts.v3 {
            let labels = [
                ("crd", definition.as_str()),
                ("group", group),
                ("reason", reason.name()),
                ("version", version),
            ];
            samples.add(&labels, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_definition_reason_and_version() {
        let figures = DefinitionFigures::default();
        figures.changed("w.example.com", "example.com", Reason::Add, ["v1", "v2"].into_iter());
        figures.changed("w.example.com", "example.com", Reason::Update, ["v1"].into_iter());
        figures.changed("w.example.com", "example.com", Reason::Update, ["v1"].into_iter());
        let mut page = String::new();
        figures.collect(&mut page);
        for line in [
            "apiextensions_openapi_v2_regeneration_count{crd=\"w.example.com\",reason=\"update\"} 2\n",
            "apiextensions_openapi_v3_regeneration_count{crd=\"w.example.com\",group=\"example.com\",reason=\"add\",version=\"v2\"} 1\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
    }
}
