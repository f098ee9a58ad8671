//! Records of clients' calls on each object with their times, as input of Porcupine, an independent
//! linearizability checker.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::{process, tools};
use serde_json::json;

use super::history::{History, Observation, Outcome, RecordedCall, WriteKind};

/// Timeout of the first build, which fetches and compiles it.
const BUILD_MAX: Duration = Duration::from_secs(300);
const RUN_MAX: Duration = Duration::from_secs(900);
/// Maximum delay of a write with unknown outcome after its client gave up: a server can continue it for
/// `--request-timeout`.
const LATE_MAX: Duration = Duration::from_secs(70);

/// Formats one line per call. For a write with unknown outcome, etcd's history determines if and at which
/// time it happened.
fn lines(noted: &[RecordedCall], history: &History) -> String {
    let marks = history.marks();
    let mut text = String::new();
    for RecordedCall { start, ended, observation } in noted {
        let (name, kind, expected, outcome) = match observation {
            Observation::Write { name, how, mark, outcome } => {
                let (kind, expected) = match how {
                    WriteKind::Create => ("create", 0),
                    WriteKind::Update(revision) => ("update", *revision),
                    WriteKind::Patch => ("patch", 0),
                };
                match (outcome, marks.get(mark.as_str()).and_then(|all| all.first())) {
                    (Outcome::Unknown, None) => continue,
                    (Outcome::Unknown, Some(revision)) => (name, kind, expected, ("late", 0, *revision)),
                    (outcome, _) => (name, kind, expected, outcome_of(*outcome)),
                }
            }
            Observation::Delete { name, outcome, .. } => (name, "delete", 0, outcome_of(*outcome)),
            Observation::Get { name, found, .. } => {
                let revision = found.as_ref().map_or(0, |(revision, _)| *revision);
                (name, "get", 0, ("done", 0, revision))
            }
            Observation::List { .. } | Observation::Watch { .. } => continue,
        };
        let (outcome, code, revision) = outcome;
        let is_late = matches!(outcome, "late" | "unknown");
        let ended = if is_late { *ended + LATE_MAX } else { *ended };
        let line = json!({
            "name": name, "kind": kind, "expected": expected, "outcome": outcome, "code": code, "revision": revision,
            "begun": micros(*start), "ended": micros(ended),
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

fn outcome_of(outcome: Outcome) -> (&'static str, u16, i64) {
    match outcome {
        Outcome::Done(revision) => ("done", 0, revision.unwrap_or_default()),
        Outcome::Refused(code) => ("refused", code, 0),
        Outcome::Unknown => ("unknown", 0, 0),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap()
}

/// Runs Porcupine and returns its result.
pub(super) fn judge(noted: &[RecordedCall], history: &History, file: &Path) -> String {
    std::fs::write(file, lines(noted, history)).unwrap();
    let done = process::run(Command::new(program()).arg(file), "", RUN_MAX);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    done.stdout
}

fn program() -> PathBuf {
    let built = tools::target().join("e2e/porcupine");
    let mut command = Command::new(tools::program("go"));
    command.args(["build", "-mod=mod", "-o"]).arg(&built).arg(".");
    let done = process::run(command.current_dir(tools::root().join("e2e/porcupine")), "", BUILD_MAX);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    built
}
