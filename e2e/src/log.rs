//! Detects log lines that a healthy run must not contain.

/// Returns the unexpected lines: not informational, and without any pattern in `allowed`. These are warnings,
/// errors, and lines that are not from the logger, such as a panic.
pub fn unexpected<'a>(log: &'a str, allowed: &[String]) -> Vec<&'a str> {
    log.lines()
        .filter(|line| !line.is_empty() && !is_quiet(line))
        .filter(|line| !allowed.iter().any(|pattern| line.contains(pattern.as_str())))
        .collect()
}

/// Matches `I0102 03:04:05.678901    4711 run.rs:17] "message"`.
fn is_quiet(line: &str) -> bool {
    let (severity, rest) = line.split_at_checked(1).unwrap_or_default();
    let (date, rest) = rest.split_at_checked(4).unwrap_or_default();
    severity == "I" && date.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with(' ')
}

/// Returns the last lines of a log, for failure reports.
pub fn tail(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_informational_lines_are_unexpected() {
        let check = |log: &str, allowed: &[&str], expected: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(unexpected(log, &allowed), expected, "{log}");
        };
        let warning = r#"W0102 03:04:05.678901    4711 b.rs:1] "the WAN is gone""#;
        let panic = "thread 'main' panicked at src/main.rs:1:1:";
        check("", &[], &[]);
        check("I0102 03:04:05.678901    4711 a.rs:1] \"W0102 is only a word here\"\n\n", &[], &[]);
        check(warning, &[], &[warning]);
        check(warning, &["is here"], &[warning]);
        check(warning, &["is here", "WAN is gone"], &[]);
        let error = "E0102 03:04:05.678901    4711 a.rs:1] \"b\"";
        check(error, &[], &[error]);
        check("Iffy", &[], &["Iffy"]);
        check(&format!("{panic}\n{warning}"), &["WAN"], &[panic]);
    }

    #[test]
    fn a_tail_is_the_end_of_a_log() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
