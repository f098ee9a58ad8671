//! `--disabled-metrics`, `--show-hidden-metrics-for-version`, `--allow-metric-labels` and
//! `--allow-metric-labels-manifest`: selection of exported metrics.

use std::collections::BTreeMap;

use component_base::features::Release;
use component_base::metrics::{InvalidNameError, Selection};
use server::metrics::read_manifest;

use super::error::OptionError;
use crate::flags::Flags;

const NAME: &str = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL: &str = "[a-zA-Z_][a-zA-Z0-9_]*";
const INLINE: &str = "allow-metric-labels";
const MANIFEST: &str = "allow-metric-labels-manifest";

/// Builds the selection. Appends errors to `errors`, in upstream's words. The label values can be set either
/// inline or by a manifest, not both.
pub(super) fn selection(flags: &Flags, errors: &mut Vec<String>) -> Selection {
    let disabled = flags.list("disabled-metrics");
    let selection = match Selection::default().disable(disabled.clone()) {
        Ok(selection) => selection,
        Err(InvalidNameError(name)) => {
            let shown = jsontree::json!(disabled);
            errors.push(format!(
                "metrics.disabledMetrics: Invalid value: {shown}: must be fully qualified metric names matching \
                 {:?}, got {name:?}",
                format!("^{NAME}$")
            ));
            Selection::default()
        }
    };
    let selection = show_hidden(flags, selection, errors);
    match (flags.is_set(INLINE), flags.optional(MANIFEST)) {
        (true, Some(_)) => {
            errors.push(
                "metrics: Invalid value: cannot specify both allowListMapping and allowListMappingManifest"
                    .to_owned(),
            );
            selection
        }
        (true, None) => allow(selection, &inline(flags), errors, |reason, pairs| {
            format!("metrics.allowListMapping: Invalid value: {}: {reason}", jsontree::json!(pairs))
        }),
        (false, Some(path)) => match read(path) {
            Ok(pairs) => allow(selection, &pairs, errors, |reason, pairs| {
                let inner = jsontree::json!(pairs);
                of_manifest(
                    path,
                    &format!(
                        "invalid allow list mapping in manifest: [metrics.allowListMappingManifest: Invalid value: \
                         {inner}: {reason}]"
                    ),
                )
            }),
            Err(reason) => {
                errors.push(of_manifest(path, &reason.to_string()));
                selection
            }
        },
        (false, None) => selection,
    }
}

/// Selects hidden metrics if the flag names the previous release.
fn show_hidden(flags: &Flags, selection: Selection, errors: &mut Vec<String>) -> Selection {
    let Some(version) = flags.optional("show-hidden-metrics-for-version") else { return selection };
    let previous = Release::THIS.subtract_minor(1).to_string();
    if version == previous {
        return selection.show_hidden();
    }
    errors.push(format!(
        "metrics.showHiddenMetricsForVersion: Invalid value: {version:?}: must be omitted or have the value \
         '{previous}'; only the previous minor version is allowed"
    ));
    selection
}

/// Returns the inline pairs. The last value of a repeated key wins.
fn inline(flags: &Flags) -> BTreeMap<String, String> {
    let pairs = flags.list(INLINE);
    let split = pairs.iter().filter_map(|pair| pair.split_once('='));
    split.map(|(key, values)| (key.to_owned(), values.to_owned())).collect()
}

fn read(path: &str) -> Result<BTreeMap<String, String>, OptionError> {
    let text = std::fs::read_to_string(path).map_err(|source| {
        let message = format!("failed to read allow list manifest: open {path}: {source}");
        OptionError::File { message, source }
    })?;
    Ok(read_manifest(&text)?)
}

fn of_manifest(path: &str, reason: &str) -> String {
    format!("metrics.allowListMappingManifest: Invalid value: {path:?}: {reason}")
}

fn allow(
    selection: Selection,
    pairs: &BTreeMap<String, String>,
    errors: &mut Vec<String>,
    message: impl Fn(&str, &BTreeMap<String, String>) -> String,
) -> Selection {
    let allow_list = pairs.iter().map(|(key, values)| (key.as_str(), values.as_str()));
    selection.with_allowed(allow_list).unwrap_or_else(|_| {
        let reason = format!(
            "must have keys with format `metricName,labelName` where metricName matches {NAME:?} and labelName \
             matches {LABEL:?}"
        );
        errors.push(message(&reason, pairs));
        Selection::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::FlagError;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    fn read_flags(words: &[&str]) -> Result<(Selection, Vec<String>), FlagError> {
        let flags = Flags::parse(words.iter().map(|&word| word.to_owned()))?;
        let mut errors = Vec::new();
        Ok((selection(&flags, &mut errors), errors))
    }

    #[test]
    fn quoted_pairs_may_have_several_values() -> TestResult {
        let (got, errors) = read_flags(&["--allow-metric-labels=\"a,b=1,2\",\"c,d=\""])?;
        let expected = Selection::default().with_allowed([("a,b", "1,2"), ("c,d", "")])?;
        assert_eq!((got, errors), (expected, Vec::new()));
        Ok(())
    }

    #[test]
    fn manifest_equals_inline_labels() -> TestResult {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "\"a,b\": \"1,2\"\n")?;
        let path = format!("--allow-metric-labels-manifest={}", file.path().display());
        let (got, errors) = read_flags(&[&path, "--disabled-metrics=x,y"])?;
        let expected =
            Selection::default().disable(vec!["x".into(), "y".into()])?.with_allowed([("a,b", "1,2")])?;
        assert_eq!((got, errors), (expected, Vec::new()));
        Ok(())
    }

    #[test]
    fn previous_release_shows_hidden_metrics() -> TestResult {
        let previous = Release::THIS.subtract_minor(1);
        let (got, errors) = read_flags(&[&format!("--show-hidden-metrics-for-version={previous}")])?;
        assert_eq!((got, errors), (Selection::default().show_hidden(), Vec::new()));
        Ok(())
    }

    #[test]
    fn errors_equal_upstreams() -> TestResult {
        let check = |words: &[&str], expected: &str| -> TestResult {
            assert_eq!(read_flags(words)?.1, [expected.to_owned()], "{words:?}");
            Ok(())
        };
        check(
            &["--disabled-metrics=a b"],
            r#"metrics.disabledMetrics: Invalid value: ["a b"]: must be fully qualified metric names matching "^[a-zA-Z_:][a-zA-Z0-9_:]*$", got "a b""#,
        )?;
        check(
            &["--allow-metric-labels=a=1"],
            r#"metrics.allowListMapping: Invalid value: {"a":"1"}: must have keys with format `metricName,labelName` where metricName matches "[a-zA-Z_:][a-zA-Z0-9_:]*" and labelName matches "[a-zA-Z_][a-zA-Z0-9_]*""#,
        )?;
        check(
            &["--allow-metric-labels=\"a,b=1\"", "--allow-metric-labels-manifest=/x"],
            "metrics: Invalid value: cannot specify both allowListMapping and allowListMappingManifest",
        )?;
        check(
            &["--show-hidden-metrics-for-version=1.20"],
            "metrics.showHiddenMetricsForVersion: Invalid value: \"1.20\": must be omitted or have the value '1.36'; \
             only the previous minor version is allowed",
        )?;
        let (_, errors) = read_flags(&["--allow-metric-labels-manifest=/does/not/exist"])?;
        let start = "metrics.allowListMappingManifest: Invalid value: \"/does/not/exist\": failed to read allow list manifest: open";
        assert!(errors.iter().all(|error| error.starts_with(start)) && errors.len() == 1, "{errors:?}");
        Ok(())
    }
}
