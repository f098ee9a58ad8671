//! Page in the Prometheus text format 0.0.4, filtered by a [`Selection`] while it is written.
//!
//! The header of a family is written before its first sample, so a family without samples has none.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Formatter, Write};
use std::marker::PhantomData;

use super::selection::Allowed;
use super::{Counter, Desc, Family, Gauge, Histogram, Kind, Metric, Number, Selection, Summary};

/// Value that replaces a disallowed label value.
const UNEXPECTED: &str = "unexpected";

/// Page under construction. Families are sorted by name, as in upstream.
#[derive(Debug)]
pub struct Page<'s> {
    selection: &'s Selection,
    /// Text of each family with samples, by name.
    families: BTreeMap<&'static str, String>,
    /// Number of counted events with a disallowed label value.
    unexpected: u64,
}

impl<'s> Page<'s> {
    /// Creates an empty page.
    pub fn new(selection: &'s Selection) -> Self {
        Page { selection, families: BTreeMap::new(), unexpected: 0 }
    }

    /// Starts to write samples of a family.
    pub fn family<M: Metric, const N: usize>(&mut self, family: &'static Family<M, N>) -> Samples<'_, M, N> {
        let name = family.desc.name;
        let allowed = self.selection.allowed(name);
        let writer = Writer {
            desc: &family.desc,
            names: &family.labels,
            enabled: self.selection.selects(&family.desc),
            merged: allowed.map(Merged::new),
            text: self.families.remove(name).unwrap_or_default(),
            families: &mut self.families,
            unexpected: &mut self.unexpected,
            labels: String::new(),
            replaced: 0,
        };
        Samples { writer, metric: PhantomData }
    }

    /// Returns the number of counted events with a disallowed label value.
    pub(super) fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// Returns the complete page.
    pub fn into_text(self) -> String {
        let mut text = String::with_capacity(self.families.values().map(String::len).sum());
        self.families.values().for_each(|family| text.push_str(family));
        text
    }
}

/// Writer for the samples of one family. Label values are in the order of the family's label names.
pub struct Samples<'p, M: Metric, const N: usize> {
    writer: Writer<'p>,
    metric: PhantomData<fn() -> M>,
}

impl<M: Metric, const N: usize> Samples<'_, M, N> {
    /// Writes a metric, even one at zero.
    pub fn write(&mut self, labels: [&str; N], metric: &M) {
        metric.write(labels, self);
    }

    /// Writes a metric, unless it is at zero. Upstream's series exist only after their first count.
    pub fn write_used(&mut self, labels: [&str; N], metric: &M) {
        if !metric.is_unused() {
            metric.write(labels, self);
        }
    }
}

impl<const N: usize> Samples<'_, Counter, N> {
    /// Writes a counter.
    pub fn add(&mut self, labels: [&str; N], value: impl Into<Number>) {
        self.writer.set_labels(&labels);
        self.writer.sample("", None, value.into());
    }

    /// Writes a counter, unless it is 0. Upstream's series exist only after their first count.
    pub fn add_nonzero(&mut self, labels: [&str; N], count: u64) {
        if count > 0 {
            self.add(labels, count);
        }
    }
}

impl<const N: usize> Samples<'_, Gauge, N> {
    /// Writes a gauge.
    pub fn add(&mut self, labels: [&str; N], value: impl Into<Number>) {
        self.writer.set_labels(&labels);
        self.writer.sample("", None, value.into());
    }
}

impl<const N: usize> Samples<'_, Histogram, N> {
    /// Writes a histogram from its parts: upper bounds, each with the number of observations at or below it,
    /// the total, and the sum.
    pub fn add_distribution<B: Display>(
        &mut self,
        labels: [&str; N],
        buckets: impl IntoIterator<Item = (B, u64)>,
        count: u64,
        sum: f64,
    ) {
        self.writer.set_labels(&labels);
        let mut text = String::new();
        for (bound, below) in buckets {
            text.clear();
            let _ = write!(text, "{bound}");
            self.writer.sample("_bucket", Some(&text), below.into());
        }
        self.writer.sample("_bucket", Some("+Inf"), count.into());
        self.writer.sample("_sum", None, sum.into());
        self.writer.sample("_count", None, count.into());
    }
}

impl<const N: usize> Samples<'_, Summary, N> {
    /// Writes a summary.
    pub fn add(&mut self, labels: [&str; N], Summary { sum, count }: Summary) {
        self.writer.set_labels(&labels);
        self.writer.sample("_sum", None, sum.into());
        self.writer.sample("_count", None, count.into());
    }
}

/// Series of a family with constrained labels, in their order. Those that become equal are added up.
struct Merged<'p> {
    allowed: &'p Allowed,
    series: Vec<(String, Number)>,
    /// Index by series.
    indices: HashMap<String, usize>,
}

impl<'p> Merged<'p> {
    fn new(allowed: &'p Allowed) -> Self {
        Merged { allowed, series: Vec::new(), indices: HashMap::new() }
    }

    fn add(&mut self, series: String, value: Number) {
        if let Some(place) = self.indices.get(&series) {
            if let Some((_, sum)) = self.series.get_mut(*place) {
                *sum = sum.saturating_add(value);
            }
            return;
        }
        self.indices.insert(series.clone(), self.series.len());
        self.series.push((series, value));
    }
}

/// Untyped part of [`Samples`].
struct Writer<'p> {
    desc: &'static Desc,
    names: &'static [&'static str],
    /// False for a disabled family.
    enabled: bool,
    /// Present if labels of the family are constrained.
    merged: Option<Merged<'p>>,
    /// Header and samples so far, moved to `families` in the end.
    text: String,
    families: &'p mut BTreeMap<&'static str, String>,
    unexpected: &'p mut u64,
    /// Text of the labels of the current series.
    labels: String,
    /// Number of replaced values in `labels`.
    replaced: u64,
}

impl Writer<'_> {
    /// Stores the text of the labels of a series.
    fn set_labels(&mut self, values: &[&str]) {
        self.labels.clear();
        self.replaced = 0;
        let allowed = self.merged.as_ref().map(|merged| merged.allowed);
        for (at, (name, value)) in self.names.iter().zip(values).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let refused =
                allowed.and_then(|allowed| allowed.get(*name)).is_some_and(|values| !values.contains(*value));
            self.replaced = self.replaced.saturating_add(refused.into());
            let _ = write!(self.labels, "{comma}{name}=\"");
            escape(&mut self.labels, if refused { UNEXPECTED } else { value });
            self.labels.push('"');
        }
    }

    /// Writes a sample of the current series.
    fn sample(&mut self, suffix: &'static str, bound: Option<&str>, value: Number) {
        if !self.enabled {
            return;
        }
        let series = Series { name: self.desc.name, suffix, labels: &self.labels, bound };
        let Some(merged) = &mut self.merged else {
            append_sample(&mut self.text, self.desc, format_args!("{series} {value}"));
            return;
        };
        let events = match (self.desc.kind, suffix) {
            (Kind::Counter, _) | (_, "_count") => value.event_count(),
            (Kind::Histogram | Kind::Summary, _) => 0,
            (Kind::Gauge, _) => 1,
        };
        *self.unexpected = self.unexpected.saturating_add(self.replaced.saturating_mul(events));
        merged.add(series.to_string(), value);
    }
}

impl Drop for Writer<'_> {
    /// Moves the text to the page.
    fn drop(&mut self) {
        let merged = self.merged.take().map(|merged| merged.series).unwrap_or_default();
        for (series, value) in merged {
            append_sample(&mut self.text, self.desc, format_args!("{series} {value}"));
        }
        if !self.text.is_empty() {
            self.families.insert(self.desc.name, std::mem::take(&mut self.text));
        }
    }
}

/// Appends a sample to the text of a family, after the header.
fn append_sample(text: &mut String, desc: &Desc, sample: fmt::Arguments<'_>) {
    if text.is_empty() {
        let Desc { name, kind, stability, help, .. } = desc;
        let prefix = stability.prefix();
        let kind = kind.name();
        let deprecated = match desc.deprecated_version() {
            version if version.is_empty() => String::new(),
            version => format!("(Deprecated since {version}) "),
        };
        let _ = writeln!(text, "# HELP {name} {prefix}{deprecated}{help}\n# TYPE {name} {kind}");
    }
    let _ = writeln!(text, "{sample}");
}

/// Name and labels of a sample.
struct Series<'s> {
    name: &'static str,
    suffix: &'static str,
    labels: &'s str,
    /// Value of the label `le`.
    bound: Option<&'s str>,
}

impl Display for Series<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Series { name, suffix, labels, bound } = self;
        match (*labels, bound) {
            ("", None) => write!(f, "{name}{suffix}"),
            (labels, None) => write!(f, "{name}{suffix}{{{labels}}}"),
            ("", Some(bound)) => write!(f, "{name}{suffix}{{le=\"{bound}\"}}"),
            (labels, Some(bound)) => write!(f, "{name}{suffix}{{{labels},le=\"{bound}\"}}"),
        }
    }
}

fn escape(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}
