//! `--help`.

use std::fmt::Write;

use crate::flags::{FLAGS, Flag, FlagSupport};

/// Returns the help text: all visible flags, by section.
pub(crate) fn text() -> String {
    let mut out = String::from(
        "Mainstay serves the Kubernetes API: it validates and stores the objects of a cluster and tells \
         everyone who watches. Started without flags it keeps them in a store of its own, and prints how \
         to reach it.\n\nUsage:\n  kube-apiserver [flags]\n  kube-apiserver testserver [--listen=unix:PATH|IP:PORT] \
         [--forks-max=N] [flags]\n",
    );
    let mut section = "";
    for flag in FLAGS.iter().filter(|flag| !flag.hidden) {
        if flag.section != section {
            section = flag.section;
            let _ = write!(out, "\n{section} flags:\n\n");
        }
        write_flag(&mut out, flag);
    }
    out
}

fn write_flag(out: &mut String, flag: &Flag) {
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
    let text = match flag.support {
        FlagSupport::Honoured(text) => text.to_owned(),
        FlagSupport::Ignored(reason) => format!("Ignored: {reason}."),
        FlagSupport::Rejected(reason) => format!("Refused: {reason}."),
    };
    let _ = writeln!(out, "  {short}--{}{type_name}\n            {text}{default}", flag.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_flags_are_listed_by_section() {
        let text = text();
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
}
