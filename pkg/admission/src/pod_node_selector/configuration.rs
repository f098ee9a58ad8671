//! Which nodes pods may select, by namespace: `podNodeSelectorPluginConfig`, from before configuration files had
//! versions.

use std::collections::BTreeMap;

use jsontree::Value;

/// Go finds members without regard to case.
const MEMBER: &str = "podNodeSelectorPluginConfig";

/// Selectors as texts, by namespace, and under a name of its own the one of namespaces that do not say. By default there
/// are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodNodeSelectorConfiguration {
    selectors: BTreeMap<String, String>,
}

impl PodNodeSelectorConfiguration {
    /// Reads the documents of a text, YAML or JSON. What cannot be understood is passed over, as upstream does; selectors
    /// are read when they are needed.
    pub fn parse(text: &[u8]) -> Self {
        let mut selectors = BTreeMap::new();
        for document in documents(text) {
            let json = schema::yaml::to_json(document).map(|yaml| yaml.json).unwrap_or_default();
            let Ok(Value::Object(members)) = serde_json::from_slice(&json) else { continue };
            let mine = members.iter().filter(|(name, _)| name.eq_ignore_ascii_case(MEMBER));
            for (namespace, selector) in mine.filter_map(|(_, value)| value.as_object()).flatten() {
                match selector {
                    Value::String(selector) => selectors.insert(namespace.to_string(), selector.to_string()),
                    _ => selectors.insert(namespace.to_string(), String::new()),
                };
            }
        }
        PodNodeSelectorConfiguration { selectors }
    }

    /// The selector under a name; empty where there is none.
    pub(super) fn selector(&self, name: &str) -> &str {
        self.selectors.get(name).map_or("", String::as_str)
    }
}

/// The documents of a text.
fn documents(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const BETWEEN: &[u8] = b"\n---";
    let mut left = Some(text);
    std::iter::from_fn(move || {
        let text = left?;
        match text.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
            Some(end) => {
                left = text.get(end + BETWEEN.len()..);
                text.get(..end)
            }
            None => left.take(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_counts_as_far_as_it_can_be_understood() {
        let text = b"podNodeSelectorPluginConfig: {a: x=y, b: c=d}\n---\n: [\n---\nPodNodeSelectorPluginConfig: {a: x=z, n: 1}\n";
        let read = PodNodeSelectorConfiguration::parse(text);
        assert_eq!(["a", "b", "n", "none"].map(|name| read.selector(name)), ["x=z", "c=d", "", ""]);
        assert_eq!(PodNodeSelectorConfiguration::parse(b""), PodNodeSelectorConfiguration::default());
    }
}
