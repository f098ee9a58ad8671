//! `help` and `--help`.

use std::fmt::Write;

use component_base::features::{Effective, Gate, Stage};

use crate::flags::{FLAGS, Flag, FlagSupport};

/// Width of the text in columns, if the terminal's is unknown, and its least value.
const COLUMNS: usize = 100;
const COLUMNS_MIN: usize = 50;
/// Indentation of descriptions.
const INDENT: &str = "            ";

const HEAD: &str = "Mainstay serves the Kubernetes API: it validates, stores and watches the objects of a cluster. \
    Without --etcd-servers it uses an embedded store and prints how to connect.";

const USAGE: &str = "
Usage:
  kube-apiserver [flags]
  kube-apiserver testserver [--listen=unix:PATH|IP:PORT] [--forks-max=N] [flags]
  kube-apiserver etcd-stub --listen-client-urls=http://IP:PORT
  kube-apiserver help
  kube-apiserver version
  kube-apiserver completion bash|zsh|fish
";

/// Returns the width for a terminal of this many columns, as in the environment variable `COLUMNS`.
pub(crate) fn width(columns: Option<&str>) -> usize {
    let columns = columns.and_then(|columns| columns.parse().ok());
    columns.map_or(COLUMNS, |columns: usize| columns.max(COLUMNS_MIN))
}

/// Returns the help text: all visible flags, by section, and the feature gates.
pub(crate) fn text(width: usize) -> String {
    let mut out = wrapped(HEAD, "", width);
    out.push_str(USAGE);
    let mut section = "";
    for flag in FLAGS.iter().filter(|flag| !flag.hidden) {
        if flag.section != section {
            section = flag.section;
            let _ = write!(out, "\n{section} flags:\n\n");
        }
        write_flag(&mut out, flag, width);
        if flag.name == "feature-gates" {
            write_gates(&mut out);
        }
    }
    out
}

fn write_flag(out: &mut String, flag: &Flag, width: usize) {
    let short = flag.shorthand.map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
    let type_name = match flag.kind.no_opt_default() {
        Some(_) => String::new(),
        None => {
            format!(" {}", flag.type_name.strip_prefix("stringSlice").map_or(flag.type_name, |_| "strings"))
        }
    };
    let default = match flag.default {
        "" | "false" | "[]" | "<nil>" | "0s" => String::new(),
        default => format!(" (default {default})"),
    };
    let text = description(flag);
    let _ = writeln!(out, "  {short}--{}{type_name}", flag.name);
    out.push_str(&wrapped(&format!("{text}{default}"), INDENT, width));
}

/// Returns the description of a flag.
pub(crate) fn description(flag: &Flag) -> String {
    match flag.support {
        FlagSupport::Honoured(text) => text.to_owned(),
        FlagSupport::Ignored(reason) => format!("Ignored: {reason}."),
        FlagSupport::Rejected(reason) => format!("Refused: {reason}."),
    }
}

/// Lists the gates that can be set and are not yet stable, as upstream does.
fn write_gates(out: &mut String) {
    let effective = Effective::default();
    for gate in Gate::ALL {
        let spec = gate.spec_in(effective).filter(|spec| !spec.locked);
        let spec = spec.filter(|spec| matches!(spec.stage, Stage::Alpha | Stage::Beta));
        let Some(spec) = spec else { continue };
        let stage = spec.stage.name();
        let _ = writeln!(out, "{INDENT}{}=true|false ({stage} - default={})", gate.name(), spec.default);
    }
}

/// Breaks a text into indented lines of at most `width` columns. A longer word gets a line of its own.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(indent);
            column = indent.len();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_flags_are_listed_by_section() {
        let text = text(COLUMNS);
        for flag in FLAGS {
            let listed = text.contains(&format!("--{}", flag.name));
            assert_eq!(
                listed,
                !flag.hidden || FLAGS.iter().any(|f| !f.hidden && f.name.starts_with(flag.name)),
                "{}",
                flag.name
            );
        }
        assert!(text.contains("\nSecure serving flags:\n"));
        assert!(text.contains("  -v, --v Level\n"));
        assert!(text.contains("(default 6443)"));
    }

    #[test]
    fn feature_gates_are_listed() {
        let text = text(COLUMNS);
        assert!(text.contains("CBORServingAndStorage=true|false (ALPHA - default=false)\n"));
        assert!(text.contains("APIServerIdentity=true|false (BETA - default=true)\n"));
        assert!(!text.contains("DRAPrioritizedList="), "locked");
    }

    #[test]
    fn lines_fit_the_terminal() {
        for width in [COLUMNS_MIN, 80, 200] {
            let text = text(width);
            // Usage lines, names and gates are never broken.
            let lines = text.lines().filter(|line| line.contains(' ') && line.starts_with(INDENT));
            let lines = lines.filter(|line| !line.contains("=true|false"));
            for line in lines {
                let words = line.split_whitespace().count();
                assert!(line.chars().count() <= width || words == 1, "{line}");
            }
        }
    }

    #[test]
    fn width_follows_the_terminal() {
        assert_eq!(width(None), COLUMNS);
        assert_eq!(width(Some("120")), 120);
        assert_eq!(width(Some("3")), COLUMNS_MIN);
        assert_eq!(width(Some("wide")), COLUMNS);
    }
}
