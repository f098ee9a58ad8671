//! etcd versions with reliable watch progress.

/// True if progress notifications of this etcd version are reliable.
///
/// Before 3.4.31, and in 3.5.0 to 3.5.12, a notification could overtake events that it covers (etcd#15220)
/// and new watchers could miss them (etcd#17507). An unparsable version is not trusted.
pub(crate) fn progress_is_safe(version: &str) -> bool {
    // A pre-release counts as its release; build metadata is ignored.
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let mut numbers = core.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    match (major, minor) {
        (3, 4) => patch >= 31,
        (3, 5) => patch >= 13,
        (major, minor) => (major, minor) > (3, 5),
    }
}

#[cfg(test)]
mod tests {
    use super::progress_is_safe;

    #[test]
    fn progress_is_trusted_from_the_fixed_versions_on() {
        let check = |version, expected| assert_eq!(progress_is_safe(version), expected, "{version}");
        check("3.3.27", false);
        check("3.4.30", false);
        check("3.4.31", true);
        check("3.5.0", false);
        check("3.5.12", false);
        check("3.5.13", true);
        check("3.5.16", true);
        check("3.6.0", true);
        check("3.6.0-rc.1", true);
        check("3.7.2+deb13", true);
        check("4.0.0", true);
        check("2.3.8", false);
        check("3.5", false);
        check("", false);
        check("next", false);
    }
}
