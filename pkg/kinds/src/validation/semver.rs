//! Semantic versions.

use std::cmp::Ordering;

/// Semantic version (semver.org 2.0.0) without the build metadata, which does not affect the order.
#[derive(Default)]
pub(crate) struct Version<'v> {
    numbers: [u64; 3],
    /// Identifiers of a pre-release.
    pre: Vec<&'v str>,
}

impl<'v> Version<'v> {
    /// Parses a version; returns `None` if malformed.
    pub(crate) fn parse(text: &'v str) -> Option<Self> {
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(text, pre)| (text, Some(pre)));
        let mut parts = numbers.split('.').map(number);
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        let plain =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let pre: Vec<&str> = pre.map(|pre| pre.split('.').collect()).unwrap_or_default();
        let numeric = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let valid = parts.next().is_none()
            && build.is_none_or(|build| build.split('.').all(plain))
            && pre.iter().all(|part| plain(part) && (!numeric(part) || number(part).is_some()));
        valid.then_some(Self { numbers, pre })
    }

    /// Compares two versions; a pre-release precedes its release.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let released = self.pre.is_empty().cmp(&other.pre.is_empty());
        let parts = |version: &Self| -> Vec<(bool, u64, String)> {
            let key = |part: &&str| (number(part).is_none(), number(part).unwrap_or(0), (*part).to_owned());
            version.pre.iter().map(key).collect()
        };
        self.numbers.cmp(&other.numbers).then(released).then_with(|| parts(self).cmp(&parts(other)))
    }
}

/// Parses a number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let padded = text.len() > 1 && text.starts_with('0');
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits && !padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pre_releases_come_before_releases() {
        let order = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0", "1.0.1", "1.10.0"];
        for pair in order.windows(2) {
            let [Some(a), Some(b)] = [0, 1].map(|at| pair.get(at).and_then(|text| Version::parse(text)))
            else {
                unreachable!("all are versions");
            };
            assert!(a.order(&b).is_lt(), "{pair:?}");
        }
        for text in
            ["", "1", "1.2", "1.2.3.4", "01.2.3", "v1.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a_b"]
        {
            assert!(Version::parse(text).is_none(), "{text}");
        }
        assert!(Version::parse("1.2.3-0a.b+01").is_some());
    }
}
