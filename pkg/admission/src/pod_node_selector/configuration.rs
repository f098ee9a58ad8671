//! `podNodeSelectorPluginConfig`: node selectors by namespace. The file format predates versioned
//! configurations.

use std::collections::BTreeMap;

use jsontree::Value;

/// Go compares member names case-insensitively.
const MEMBER: &str = "podNodeSelectorPluginConfig";

/// Selector texts by namespace. A reserved key holds the default selector. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodNodeSelectorConfiguration {
    selectors: BTreeMap<String, String>,
}

impl PodNodeSelectorConfiguration {
    /// Parses the documents of a YAML or JSON text. Skips invalid documents, as upstream does. Selectors are
    /// parsed on use.
    pub fn parse(text: &[u8]) -> Self {
        let mut selectors = BTreeMap::new();
        for document in documents(text) {
            let json = schema::yaml::to_json(document).map(|yaml| yaml.json).unwrap_or_default();
            let Ok(Value::Object(members)) = serde_json::from_slice(&json) else { continue };
            let entries = members.iter().filter(|(name, _)| name.eq_ignore_ascii_case(MEMBER));
            for (namespace, selector) in entries.filter_map(|(_, value)| value.as_object()).flatten() {
                match selector {
                    Value::String(selector) => selectors.insert(namespace.to_string(), selector.to_string()),
                    _ => selectors.insert(namespace.to_string(), String::new()),
                };
            }
        }
        PodNodeSelectorConfiguration { selectors }
    }

    /// Returns the selector under a name; empty if there is none.
    pub(super) fn selector(&self, name: &str) -> &str {
        self.selectors.get(name).map_or("", String::as_str)
    }
}

/// Splits a text into its documents.
fn documents(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const BETWEEN: &[u8] = b"\n---";
    let mut remaining = Some(text);
    std::iter::from_fn(move || {
        let text = remaining?;
        match text.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
            Some(end) => {
                remaining = text.get(end + BETWEEN.len()..);
                text.get(..end)
            }
            None => remaining.take(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_parts_of_all_documents_count() {
        let text = b"podNodeSelectorPluginConfig: {a: x=y, b: c=d}\n---\n: [\n---\nPodNodeSelectorPluginConfig: {a: x=z, n: 1}\n";
        let read = PodNodeSelectorConfiguration::parse(text);
        assert_eq!(["a", "b", "n", "none"].map(|name| read.selector(name)), ["x=z", "c=d", "", ""]);
        assert_eq!(PodNodeSelectorConfiguration::parse(b""), PodNodeSelectorConfiguration::default());
    }
}
