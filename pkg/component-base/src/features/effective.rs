//! Emulated release, and oldest compatible release.

use super::Release;

/// Releases that determine the behaviour of a server. [`Default`] is this release, compatible with the
/// previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// Release whose APIs and features are offered (`--emulated-version`).
    pub emulation: Release,
    /// Oldest release of a server in the same cluster (`--min-compatibility-version`). Objects must be stored
    /// in versions that it supports.
    pub min_compatibility: Release,
}

impl Effective {
    /// Oldest release that can be emulated or supported.
    pub const OLDEST: Release = Release::THIS.subtract_minor(3);

    /// Emulates a release with the default compatibility: the previous release, unless that is too old.
    pub fn emulating(emulation: Release) -> Self {
        Effective { emulation, min_compatibility: emulation.subtract_minor(1).max(Effective::OLDEST) }
    }

    /// True if a release other than this one is emulated.
    pub fn is_emulation(self) -> bool {
        self.emulation != Release::THIS
    }

    /// Validates both releases, with upstream's error texts.
    pub fn errors(self) -> Vec<String> {
        let Effective { emulation, min_compatibility } = self;
        let oldest = Effective::OLDEST;
        let this = Release::THIS;
        let mut errors = Vec::new();
        if emulation > this || emulation < oldest {
            errors.push(format!("emulation version {emulation} is not between [{oldest}, {this}.0]"));
        }
        if min_compatibility > emulation || min_compatibility < oldest {
            errors.push(format!(
                "minCompatibilityVersion version {min_compatibility} is not between [{oldest}, {emulation}]"
            ));
        }
        errors
    }
}

impl Default for Effective {
    fn default() -> Self {
        Effective::emulating(Release::THIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_three_releases_can_be_emulated() {
        let check = |emulation: u32, min: u32, expected: &[&str]| {
            let effective = Effective::emulating(Release::minor_of_1(emulation));
            assert_eq!(effective.min_compatibility, Release::minor_of_1(min), "{emulation}");
            assert_eq!(effective.errors(), expected, "{emulation}");
        };
        check(37, 36, &[]);
        check(36, 35, &[]);
        check(35, 34, &[]);
        check(34, 34, &[]);
        let too_old = "emulation version 1.33 is not between [1.34, 1.37.0]";
        check(33, 34, &[too_old, "minCompatibilityVersion version 1.34 is not between [1.34, 1.33]"]);
        check(38, 37, &["emulation version 1.38 is not between [1.34, 1.37.0]"]);
    }

    #[test]
    fn oldest_release_is_at_most_emulated_one() {
        let check = |emulation: u32, min: u32, expected: &[&str]| {
            let emulation = Release::minor_of_1(emulation);
            let min = Release::minor_of_1(min);
            assert_eq!(Effective { emulation, min_compatibility: min }.errors(), expected);
        };
        check(37, 37, &[]);
        check(37, 34, &[]);
        check(36, 37, &["minCompatibilityVersion version 1.37 is not between [1.34, 1.36]"]);
        check(37, 33, &["minCompatibilityVersion version 1.33 is not between [1.34, 1.37]"]);
    }
}
