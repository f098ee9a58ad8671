//! Report of cases that differ from their recordings. Known differences are listed in
//! `tests/fixtures/KIND.misses`: `# reason`, followed by the cases, one per line.

use std::collections::BTreeSet;

/// Results of one kind of cases.
pub(crate) struct Report {
    kind: &'static str,
    cases: usize,
    missed: BTreeSet<String>,
}

impl Report {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { kind, cases: 0, missed: BTreeSet::new() }
    }

    /// Counts a case.
    pub(crate) fn count(&mut self) {
        self.cases += 1;
    }

    /// Records a difference.
    pub(crate) fn miss(&mut self, case: &str, difference: &str) {
        println!("== {case:?}\n{difference}");
        self.missed.insert(format!("{case:?}"));
    }

    /// Fails unless exactly the listed cases differ.
    pub(crate) fn finish(self) {
        let path = format!("{}/tests/fixtures/{}.misses", env!("CARGO_MANIFEST_DIR"), self.kind);
        let listed = std::fs::read_to_string(path).unwrap_or_default();
        let listed: BTreeSet<&str> = listed.lines().filter(|line| !line.starts_with('#')).collect();
        println!("{} of {} cases differ", self.missed.len(), self.cases);
        let unlisted: Vec<&String> =
            self.missed.iter().filter(|case| !listed.contains(case.as_str())).collect();
        assert!(unlisted.is_empty(), "{} unlisted: {unlisted:#?}", self.kind);
        let stale: Vec<&&str> = listed.iter().filter(|case| !self.missed.contains(**case)).collect();
        assert!(stale.is_empty(), "{} listed, but right: {stale:#?}", self.kind);
    }
}
