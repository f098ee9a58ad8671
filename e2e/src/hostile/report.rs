//! Limits and results of a run.

use std::fmt;
use std::time::Duration;

/// Limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Approximate size of a body in bytes.
    pub bytes: usize,
    /// Maximum number of cases, including the known ones.
    pub requests: usize,
    /// Maximum duration.
    pub time: Duration,
    /// Timeout of a response.
    pub patience: Duration,
    /// Maximum memory per byte of body, in addition to the base.
    pub memory_factor: u64,
    /// True if superlinear CPU time is a finding.
    pub cpu: bool,
    /// Seed of the sample.
    pub seed: u64,
}

/// Description of a violation of the model.
#[derive(Debug)]
pub struct Violation(pub String);

impl Violation {
    /// Describes a failed request.
    pub fn of(error: impl fmt::Display) -> Self {
        Violation(error.to_string())
    }
}

impl From<String> for Violation {
    fn from(reason: String) -> Self {
        Violation(reason)
    }
}

impl From<&str> for Violation {
    fn from(reason: &str) -> Self {
        Violation(reason.to_owned())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A case that violates the model.
#[derive(Debug)]
pub struct Finding {
    /// Name of the case.
    pub case: String,
    /// The violation.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.what)
    }
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of cases.
    pub requests: usize,
    pub findings: Vec<Finding>,
    /// Maximum memory of a case in bytes, with its name.
    pub memory_worst: (u64, String),
    /// Maximum CPU time of a case in milliseconds, with its name.
    pub cpu_worst: (u64, String),
}

impl Report {
    /// Counts a case. Adds a finding unless it passed.
    pub fn add(&mut self, case: &str, result: Result<(), Violation>) {
        self.requests += 1;
        if let Err(Violation(what)) = result {
            self.findings.push(Finding { case: case.to_owned(), what });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        write!(f, "{} cases, {} findings", self.requests, self.findings.len())?;
        let (memory, case) = &self.memory_worst;
        if *memory > 0 {
            write!(f, "\nmost memory: {} MiB: {case}", memory >> 20)?;
        }
        let (cpu, case) = &self.cpu_worst;
        if *cpu > 0 {
            write!(f, "\nmost time: {cpu} ms: {case}")?;
        }
        Ok(())
    }
}
