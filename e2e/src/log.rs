//! Which lines of a server's log nobody should see in a healthy run.

/// The lines of a log that are not informational and that no pattern in `allowed` is part of: warnings,
/// errors, and whatever did not come from the logger, such as a panic.
pub fn unexpected<'a>(log: &'a str, allowed: &[String]) -> Vec<&'a str> {
    log.lines()
        .filter(|line| !line.is_empty() && !is_quiet(line))
        .filter(|line| !allowed.iter().any(|pattern| line.contains(pattern.as_str())))
        .collect()
}

/// `2026-01-02T03:04:05.678901Z  INFO target: message`.
fn is_quiet(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let time = words.next().unwrap_or_default();
    let from_logger = time.starts_with("20") && time.ends_with('Z');
    from_logger && matches!(words.next(), Some("INFO" | "DEBUG" | "TRACE"))
}

/// The last lines of a log, for a failure's report.
pub fn tail(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_informational_is_unexpected_unless_allowed() {
        let check = |log: &str, allowed: &[&str], expected: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(unexpected(log, &allowed), expected, "{log}");
        };
        let warning = "2026-01-02T03:04:05.678901Z  WARN a::b: the WAN is gone";
        let panic = "thread 'main' panicked at src/main.rs:1:1:";
        check("", &[], &[]);
        check("2026-01-02T03:04:05.678901Z  INFO a: WARN is only a word here\n\n", &[], &[]);
        check(warning, &[], &[warning]);
        check(warning, &["is here"], &[warning]);
        check(warning, &["is here", "WAN is gone"], &[]);
        check("2026-01-02T03:04:05Z ERROR a: b", &[], &["2026-01-02T03:04:05Z ERROR a: b"]);
        check(&format!("{panic}\n{warning}"), &["WAN"], &[panic]);
    }

    #[test]
    fn a_tail_is_the_end_of_a_log() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
