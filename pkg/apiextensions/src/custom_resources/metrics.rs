//! Metrics of OpenAPI changes by CRDs, with upstream's names (apiextensions-apiserver
//! `controller/openapi/metrics.go`). Upstream registers these metrics but never increments them. The
//! documents are rebuilt on the next request.

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};

const V2: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiextensions_openapi_v2_regeneration_count",
    "Counter of OpenAPI v2 spec regeneration count broken down by causing CRD name and reason.",
    ["crd", "reason"],
);
const V3: Family<Counter, 4> = Family::counter(
    Stability::Alpha,
    "apiextensions_openapi_v3_regeneration_count",
    "Counter of OpenAPI v3 spec regeneration count broken down by group, version, causing CRD and reason.",
    ["crd", "group", "reason", "version"],
);

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

/// Numbers of document changes by CRDs. Series of deleted CRDs are retained, as in upstream.
pub struct DefinitionMetrics {
    v2: CounterVec<2>,
    v3: CounterVec<4>,
}

impl DefinitionMetrics {
    pub fn new(registry: &MetricsRegistry) -> Self {
        DefinitionMetrics { v2: registry.register_vec(&V2), v3: registry.register_vec(&V3) }
    }

    /// Records that a CRD of a group changed the documents of these versions.
    pub(super) fn changed<'v>(
        &self,
        definition: &str,
        group: &str,
        reason: Reason,
        versions: impl Iterator<Item = &'v str>,
    ) {
        self.v2.with([definition, reason.name()]).increment();
        for version in versions {
            self.v3.with([definition, group, reason.name(), version]).increment();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_definition_reason_and_version() {
        let registry = MetricsRegistry::default();
        let metrics = DefinitionMetrics::new(&registry);
        metrics.changed("w.example.com", "example.com", Reason::Add, ["v1", "v2"].into_iter());
        metrics.changed("w.example.com", "example.com", Reason::Update, ["v1"].into_iter());
        metrics.changed("w.example.com", "example.com", Reason::Update, ["v1"].into_iter());
        let page = registry.to_string();
        for line in [
            "apiextensions_openapi_v2_regeneration_count{crd=\"w.example.com\",reason=\"update\"} 2\n",
            "apiextensions_openapi_v3_regeneration_count{crd=\"w.example.com\",group=\"example.com\",reason=\"add\",version=\"v2\"} 1\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
    }
}
