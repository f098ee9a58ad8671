//! Filter for the metrics pages: `--disabled-metrics`, `--allow-metric-labels` and its manifest.
//!
//! The counters are unaffected; the page is filtered when it is requested. So a hidden series costs as much
//! as before in this server, but nothing in the system that stores the page, which is the purpose of these
//! flags.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jsontree::{Object, Value};

/// Value that replaces a disallowed label value.
const UNEXPECTED: &str = "unexpected";
/// Metric that counts the replacements.
const UNEXPECTED_TOTAL: &str = "cardinality_enforcement_unexpected_categorizations_total";
const DISABLED_TOTAL: &str = "disabled_metrics_total";

/// Disabled families and allowed label values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    disabled: BTreeSet<String>,
    /// By family and label. A label that is absent here may have any value.
    allowed: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Selection {
    /// Disables these families. Unknown names have no effect, but are counted.
    ///
    /// # Errors
    /// The first text that is no valid metric name.
    pub fn without(mut self, names: Vec<String>) -> Result<Self, String> {
        for name in names {
            if !is_name(&name, ":") {
                return Err(name);
            }
            self.disabled.insert(name);
        }
        Ok(self)
    }

    /// Sets the allowed label values: `METRIC,LABEL`, and the values separated by commas.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn with_allowed<'a>(
        mut self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, String> {
        for (key, values) in pairs {
            let (metric, label) = key
                .split_once(',')
                .filter(|(metric, label)| is_name(metric, ":") && is_name(label, ""))
                .ok_or_else(|| key.to_owned())?;
            let values = values.split(',').map(str::to_owned).collect();
            self.allowed.entry(metric.to_owned()).or_default().insert(label.to_owned(), values);
        }
        Ok(self)
    }

    /// Parses the keys and values for [`Selection::with_allowed`] from a YAML manifest.
    ///
    /// # Errors
    /// The YAML is not a map of strings.
    pub fn read_manifest(text: &str) -> Result<BTreeMap<String, String>, String> {
        let yaml = schema::yaml::to_json(text.as_bytes()).map_err(|error| error.to_string())?;
        let found: Value = serde_json::from_slice(&yaml.json).map_err(|error| error.to_string())?;
        let map = match found {
            Value::Null => Object::new(),
            Value::Object(map) => map,
            _ => return Err("it is not a map".to_owned()),
        };
        let text = |(key, value): (jsontree::Key, Value)| match value {
            Value::Null => Ok((key.into(), String::new())),
            Value::String(text) => Ok((key.into(), text.into_string())),
            Value::Bool(_) | Value::Number(_) => Ok((key.into(), value.to_string())),
            Value::Array(_) | Value::Object(_) => Err(format!("the value of {key:?} is not a text")),
        };
        map.into_iter().map(text).collect()
    }

    /// Filters a page in the Prometheus text format. Series that become equal are summed up.
    pub(crate) fn apply(&self, page: String) -> String {
        if self.disabled.is_empty() && self.allowed.is_empty() {
            return page;
        }
        let mut out = String::with_capacity(page.len());
        let mut unexpected = 0;
        for family in families(&page) {
            if self.disabled.contains(family.name) {
                continue;
            }
            match self.allowed.get(family.name) {
                Some(allowed) => unexpected += constrain(&family, allowed, &mut out),
                None => out.push_str(family.text),
            }
        }
        let disabled = u64::try_from(self.disabled.len()).unwrap_or(u64::MAX);
        for (name, value) in [(DISABLED_TOTAL, disabled), (UNEXPECTED_TOTAL, unexpected)] {
            set(&mut out, name, value);
        }
        out
    }
}

/// True for a valid name: letters, digits and underscores, without a leading digit. Metric names may also
/// contain colons.
fn is_name(text: &str, more: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || more.contains(c);
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// Metric family with all its series.
struct Family<'a> {
    name: &'a str,
    /// From `# TYPE`: `counter`, `gauge`, `histogram`, `summary`.
    kind: &'a str,
    /// All lines of the family.
    text: &'a str,
}

/// Splits a page into families, each from one `# HELP` to the next.
fn families(page: &str) -> impl Iterator<Item = Family<'_>> {
    let mut rest = page;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.get(1..).and_then(|after| after.find("\n# HELP ")).map_or(rest.len(), |at| at + 2);
        let (text, after) = rest.split_at(end);
        rest = after;
        let stated = text.lines().find_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let (name, kind) = stated.unwrap_or_default();
        Some(Family { name, kind, text })
    })
}

/// Appends a family with disallowed label values replaced. Returns the number of replacements.
fn constrain(family: &Family, allowed: &BTreeMap<String, BTreeSet<String>>, out: &mut String) -> u64 {
    let mut unexpected = 0;
    let mut order: Vec<String> = Vec::new();
    let mut values: BTreeMap<String, Number> = BTreeMap::new();
    for line in family.text.lines() {
        let sample = line.rsplit_once(' ').filter(|_| !line.starts_with('#'));
        let Some((series, value)) = sample else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let value = Number::parse(value);
        let (series, changed) = renamed(series, allowed);
        unexpected += changed * times(family, &series, value);
        match values.get_mut(&series) {
            Some(sum) => *sum = sum.plus(value),
            None => {
                order.push(series.clone());
                values.insert(series, value);
            }
        }
    }
    for series in order {
        if let Some(value) = values.get(&series) {
            let _ = writeln!(out, "{series} {}", value.text());
        }
    }
    unexpected
}

fn times(family: &Family, series: &str, value: Number) -> u64 {
    let counted = match value {
        Number::Whole(n) => u64::try_from(n).unwrap_or(0),
        Number::Real(_) => 1,
    };
    let part = series.split('{').next().and_then(|name| name.strip_prefix(family.name)).unwrap_or_default();
    match (family.kind, part) {
        ("counter", _) | ("histogram" | "summary", "_count") => counted,
        ("histogram" | "summary", _) => 0,
        _ => 1,
    }
}

/// Replaces the disallowed label values of a series by `unexpected`. Returns the number of replaced labels.
fn renamed(series: &str, allowed: &BTreeMap<String, BTreeSet<String>>) -> (String, u64) {
    let Some((name, mut rest)) = series.split_once('{') else { return (series.to_owned(), 0) };
    let mut out = format!("{name}{{");
    let mut changed = 0;
    while let Some((label, value, after)) = label(rest) {
        // The bound of a bucket is not a label of the metric.
        let values = allowed.get(label).filter(|_| !matches!(label, "le" | "quantile"));
        let refused = values.is_some_and(|values| !values.contains(&unescaped(value)));
        changed += u64::from(refused);
        let value = if refused { UNEXPECTED } else { value };
        let comma = if out.ends_with('{') { "" } else { "," };
        let _ = write!(out, "{comma}{label}=\"{value}\"");
        rest = after;
    }
    out.push('}');
    (out, changed)
}

/// Splits off the first of the remaining labels: its name, its escaped value, and the rest.
fn label(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.trim_start_matches(',').split_once("=\"")?;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    Some((name, rest.get(..end)?, rest.get(end + 1..)?))
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some(next)) => out.push(next),
            (c, _) => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

/// Sets a counter without labels, if it is on the page.
fn set(page: &mut String, name: &str, value: u64) {
    let start = format!("\n{name} ");
    let Some(at) = page.find(&start).map(|at| at + start.len()) else { return };
    let end = page.get(at..).and_then(|rest| rest.find('\n')).map_or(page.len(), |length| at + length);
    page.replace_range(at..end, &value.to_string());
}

/// Sample value, an integer as long as possible, so that large counts stay exact.
#[derive(Debug, Clone, Copy)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(whole) => Number::Whole(whole),
            Err(_) => Number::Real(text.parse().unwrap_or(f64::NAN)),
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.saturating_add(b)),
            (a, b) => Number::Real(a.real() + b.real()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum with a fraction is rounded anyway")]
    fn real(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        }
    }

    fn text(self) -> String {
        match self {
            Number::Whole(whole) => whole.to_string(),
            Number::Real(real) if real.is_nan() => "NaN".to_owned(),
            Number::Real(real) if real.is_infinite() => if real > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
            Number::Real(real) => real.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
