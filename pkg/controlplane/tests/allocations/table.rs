//! Checked-in tables of allocations: one line per operation or stage, sorted by name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::counter::Allocations;

/// Permitted deviation in parts per thousand.
const TOLERANCE_PER_MILLE: usize = 30;

/// A table in a file.
pub(crate) struct TableFile {
    name: &'static str,
    about: &'static str,
}

/// Allocations per operation.
pub(crate) const TOTALS: TableFile = TableFile { name: "table.txt", about: "operation" };
/// Allocations per stage of an operation, from one span event to the next. They only explain differences of the totals.
pub(crate) const STAGES: TableFile =
    TableFile { name: "stages.txt", about: "operation | stage up to a span event" };

/// Allocations by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Table(pub(crate) BTreeMap<String, Allocations>);

/// An entry that differs.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) name: String,
    before: Option<Allocations>,
    now: Option<Allocations>,
}

impl TableFile {
    fn path(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/allocations").join(self.name)
    }

    pub(crate) fn read(&self) -> Table {
        Table::parse(&std::fs::read_to_string(self.path()).unwrap())
    }

    pub(crate) fn write(&self, table: &Table) {
        let head = "# Written by `make allocations`; see tests/allocations.rs.";
        let text = format!("{head}\n# {}, allocations, bytes\n{table}", self.about);
        std::fs::write(self.path(), text).unwrap();
    }
}

impl Table {
    /// Parses lines of a name and two numbers. Panics on any other line that is no comment.
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let entry = |line: &str| {
            let (rest, bytes) = line.rsplit_once(' ').unwrap();
            let (name, count) = rest.trim_end().rsplit_once(' ').unwrap();
            let allocations = Allocations { count: count.parse().unwrap(), bytes: bytes.parse().unwrap() };
            (name.trim_end().to_owned(), allocations)
        };
        Table(lines.map(entry).collect())
    }

    /// Returns the entries outside of the tolerance, and those of only one table.
    pub(crate) fn differences(&self, now: &Table) -> Vec<Difference> {
        let names = self.0.keys().chain(now.0.keys().filter(|name| !self.0.contains_key(*name)));
        let pairs = names.map(|name| Difference {
            name: name.clone(),
            before: self.0.get(name).copied(),
            now: now.0.get(name).copied(),
        });
        pairs.filter(|pair| !pair.is_within_tolerance()).collect()
    }

    /// Returns the entries that have grown beyond the tolerance, and new ones.
    pub(crate) fn growth(&self, now: &Table) -> Vec<Difference> {
        let mut differences = self.differences(now);
        differences.retain(Difference::has_grown);
        differences
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, Allocations { count, bytes })| {
            writeln!(f, "{name:<60}  {count:>8}  {bytes:>10}")
        })
    }
}

impl Difference {
    fn is_within_tolerance(&self) -> bool {
        let (Some(before), Some(now)) = (self.before, self.now) else { return false };
        is_near(before.count, now.count) && is_near(before.bytes, now.bytes)
    }

    fn has_grown(&self) -> bool {
        let before = self.before.unwrap_or_default();
        self.now.is_some_and(|now| now.count > before.count || now.bytes > before.bytes)
    }
}

fn is_near(before: usize, now: usize) -> bool {
    before.abs_diff(now) * 1000 <= before * TOLERANCE_PER_MILLE
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match (self.before, self.now) {
            (Some(before), Some(now)) => {
                let percent = |before: usize, now: usize| (now as f64 / before.max(1) as f64 - 1.0) * 100.0;
                let counts = percent(before.count, now.count);
                let bytes = percent(before.bytes, now.bytes);
                write!(
                    f,
                    "{name}: {} -> {} allocations ({counts:+.1} %), {} -> {} bytes ({bytes:+.1} %)",
                    before.count, now.count, before.bytes, now.bytes
                )
            }
            (None, Some(now)) => write!(f, "{name}: new, {} allocations, {} bytes", now.count, now.bytes),
            (_, None) => write!(f, "{name}: not measured"),
        }
    }
}

fn of(entries: &[(&str, usize, usize)]) -> Table {
    Table(
        entries
            .iter()
            .map(|(name, count, bytes)| ((*name).to_owned(), Allocations { count: *count, bytes: *bytes }))
            .collect(),
    )
}

#[test]
fn written_table_is_parsed() {
    let table = of(&[("a pod", 12, 3456), ("b | c: d e", 0, 0)]);
    assert_eq!(Table::parse(&format!("# about\n{table}")), table);
}

#[test]
fn deviations_of_more_than_three_percent_differ() {
    let before = of(&[("a", 100, 1000), ("gone", 1, 1)]);
    let names = |now: &[(&str, usize, usize)]| -> Vec<String> {
        before.differences(&of(now)).into_iter().map(|difference| difference.name).collect()
    };
    assert_eq!(names(&[("a", 103, 970), ("gone", 1, 1)]), [""; 0]);
    for changed in [("a", 104, 1000), ("a", 96, 1000), ("a", 100, 1031), ("a", 100, 969)] {
        assert_eq!(names(&[changed, ("gone", 1, 1)]), ["a"], "{changed:?}");
    }
    assert_eq!(names(&[("a", 100, 1000), ("new", 1, 1)]), ["gone", "new"]);
}

#[test]
fn growth_omits_decreases() {
    let before = of(&[("a", 100, 100), ("b", 100, 100)]);
    let grown = before.growth(&of(&[("a", 200, 100), ("b", 50, 50)]));
    assert_eq!(grown.len(), 1);
    assert_eq!(grown[0].to_string(), "a: 100 -> 200 allocations (+100.0 %), 100 -> 100 bytes (+0.0 %)");
}
