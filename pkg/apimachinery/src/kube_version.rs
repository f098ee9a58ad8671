//! API versions: `v1`, `v2beta1`, and other version names.

use std::cmp::Ordering;

/// Orders versions from the least to the most preferred: other names in reverse alphabetical order, then
/// alpha, beta and stable versions, each by number (upstream's `CompareKubeAwareVersionStrings`).
pub fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (None, None) => b.cmp(a),
        (a, b) => a.cmp(&b),
    }
}

/// Stability of a version.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Alpha,
    Beta,
    Stable,
}

fn parse(version: &str) -> Option<(Level, u64, u64)> {
    let number = |digits: &str| -> Option<u64> {
        digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at_checked(digits)?;
    let major = number(major)?;
    if rest.is_empty() {
        return Some((Level::Stable, major, 0));
    }
    match rest.strip_prefix("alpha") {
        Some(minor) => Some((Level::Alpha, major, number(minor)?)),
        None => Some((Level::Beta, major, number(rest.strip_prefix("beta")?)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_before_others_and_names_last() {
        let mut versions = [
            "v1alpha1",
            "foo10",
            "v10",
            "v1",
            "v11beta2",
            "v3beta1",
            "v2",
            "foo1",
            "v12alpha1",
            "v0",
            "v1beta",
        ];
        versions.sort_by(|a, b| compare(b, a));
        let ordered = [
            "v10",
            "v2",
            "v1",
            "v0",
            "v11beta2",
            "v3beta1",
            "v12alpha1",
            "v1alpha1",
            "foo1",
            "foo10",
            "v1beta",
        ];
        assert_eq!(versions, ordered);
    }
}
