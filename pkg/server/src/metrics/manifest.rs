//! Manifest of `--allow-metric-labels-manifest`.

use std::collections::BTreeMap;

use jsontree::{Object, Value};

/// Error of a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Yaml(#[from] schema::yaml::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it is not a map")]
    NotMap,
    #[error("the value of {0:?} is not a text")]
    NotText(jsontree::Key),
}

/// Parses the keys and values for [`Selection::with_allowed`](component_base::metrics::Selection::with_allowed)
/// from a YAML manifest.
///
/// # Errors
/// The YAML is not a map of strings.
pub fn read_manifest(text: &str) -> Result<BTreeMap<String, String>, ManifestError> {
    let yaml = schema::yaml::to_json(text.as_bytes())?;
    let value: Value = serde_json::from_slice(&yaml.json)?;
    let map = match value {
        Value::Null => Object::new(),
        Value::Object(map) => map,
        _ => return Err(ManifestError::NotMap),
    };
    let text = |(key, value): (jsontree::Key, Value)| match value {
        Value::Null => Ok((key.into(), String::new())),
        Value::String(text) => Ok((key.into(), text.into_string())),
        Value::Bool(_) | Value::Number(_) => Ok((key.into(), value.to_string())),
        Value::Array(_) | Value::Object(_) | Value::Raw(_) => Err(ManifestError::NotText(key)),
    };
    map.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_maps_of_texts() {
        let check = |text: &str, expected: Result<&[(&str, &str)], &str>| {
            let actual = read_manifest(text).map_err(|error| error.to_string());
            let expected =
                expected.map(|pairs| pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect());
            assert_eq!(actual, expected.map_err(str::to_owned), "{text:?}");
        };
        check("", Ok(&[]));
        check("\"a,b\": \"1,2\"\n\"a,c\": 200\n", Ok(&[("a,b", "1,2"), ("a,c", "200")]));
        check("a:\n  b: c\n", Err("the value of \"a\" is not a text"));
        check("- a", Err("it is not a map"));
    }
}
