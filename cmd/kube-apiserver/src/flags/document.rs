//! Generates `docs/flags.md` from the flag table, so that documentation and code agree.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fmt::Write;
use std::path::Path;

use component_base::features::Release;

use super::{FLAGS, Flag, FlagSupport};

/// Environment variable for rewriting the document (`make docs`).
const WRITE: &str = "WRITE_DOCS";

const REJECTED_HEAD: &str = "\n## Refused\n\n\
The server does not start with one of these flags, because ignoring it would weaken security.\n\n\
| flag | reason |\n|---|---|\n";
const IGNORED: &str = "\n## Without effect\n\n\
A warning at start reports each one in use.\n\n\
| flag | reason |\n|---|---|\n";
const ADDED_FLAGS_HEAD: &str = "\n## Beyond upstream's\n\n| flag | default | effect |\n|---|---|---|\n";
const HONOURED: &str = "\n## Honoured\n\n| flag | default | effect |\n|---|---|---|\n";
/// Flags that upstream lacks.
const OWN_FLAGS: [&str; 7] = [
    "embedded-controllers",
    "embedded-data-dir",
    "embedded-from",
    "embedded-in-memory",
    "embedded-snapshot",
    "embedded-snapshot-endpoint",
    "memory-limit",
];

fn head() -> String {
    format!(
        "# Flags\n\nEvery flag of upstream v{}, with its type, default and rules. `make docs` generates this page \
         from the table that the server reads (`cmd/kube-apiserver/src/flags/table.rs`); a test compares them.\n",
        Release::THIS
    )
}

fn document() -> String {
    let mut out = head();
    let mut rows = |head: &str, row: &dyn Fn(&Flag) -> Option<String>| {
        let rows: Vec<String> = FLAGS.iter().filter_map(row).collect();
        if !rows.is_empty() {
            let _ = writeln!(out, "{head}{}", rows.join("\n"));
        }
    };
    rows(REJECTED_HEAD, &|flag| match flag.support {
        FlagSupport::Rejected(why) => Some(format!("| `--{}` | {} |", flag.name, escaped(why))),
        _ => None,
    });
    rows(IGNORED, &|flag| match flag.support {
        FlagSupport::Ignored(why) => Some(format!("| `--{}` | {} |", flag.name, escaped(why))),
        _ => None,
    });
    rows(ADDED_FLAGS_HEAD, &|flag| honoured(flag).filter(|_| OWN_FLAGS.contains(&flag.name)));
    rows(HONOURED, &|flag| honoured(flag).filter(|_| !OWN_FLAGS.contains(&flag.name)));
    out
}

fn honoured(flag: &Flag) -> Option<String> {
    let FlagSupport::Honoured(description) = flag.support else { return None };
    let default = match flag.default {
        "" | "[]" | "<nil>" => String::new(),
        default => format!("`{}`", escaped(default)),
    };
    Some(format!("| `--{}` | {default} | {} |", flag.name, escaped(description)))
}

/// Escapes `|` for table cells.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn document_matches_the_flag_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flags.md");
    let document = document();
    assert!(FLAGS.iter().all(|flag| document.contains(&format!("| `--{}` |", flag.name))));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == document, "docs/flags.md is not what the table says: make docs");
}
