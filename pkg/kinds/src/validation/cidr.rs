//! CIDRs (`10.0.0.0/8`, `2001:db8::/64`), and IP addresses in fields that formerly accepted lenient
//! spellings.

use super::value::invalid_each;
use api::ip::{Spelling, canonical_ip, is_valid_legacy_ip};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Digit limit of a prefix length; Go's parser stops there.
const PREFIX_DIGITS_MAX: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    pub network: IpAddr,
    /// Number of leading bits that all addresses share.
    pub bits: u8,
}

impl Cidr {
    /// Parses a CIDR leniently: leading zeros are ignored, bits after the prefix are dropped.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (ip, bits) = text.split_once('/')?;
        let digits =
            (1..=PREFIX_DIGITS_MAX).contains(&bits.len()) && bits.bytes().all(|b| b.is_ascii_digit());
        let bits = bits.parse::<u8>().ok().filter(|_| digits)?;
        let network = masked(canonical_ip(ip)?, bits)?;
        Some(Self { network, bits })
    }

    /// True if an address is in the range.
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        masked(ip, self.bits) == Some(self.network) && ip.is_ipv4() == self.network.is_ipv4()
    }
}

/// Clears the bits of an address after the prefix. Returns `None` if the prefix is longer than the address.
fn masked(ip: IpAddr, bits: u8) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(ip) => {
            let rest = 32_u32.checked_sub(bits.into())?;
            let mask = u32::MAX.checked_shl(rest).unwrap_or(0);
            Some(IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask)))
        }
        IpAddr::V6(ip) => {
            let rest = 128_u32.checked_sub(bits.into())?;
            let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
            Some(IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask)))
        }
    }
}

/// Validates an interface address with the prefix length of its network (`10.9.8.7/24`), in canonical form.
pub(crate) fn interface_address(path: &Path<'_>, text: &str, errors: &mut ErrorList) {
    let parsed = Cidr::parse(text).zip(text.split_once('/').and_then(|(ip, _)| canonical_ip(ip)));
    let Some((range, ip)) = parsed else {
        let detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        errors.push(Error::invalid(path, text, detail));
        return;
    };
    let canonical = match ip.to_canonical() {
        // The prefix of an IPv4 address inside an IPv6 address is 96 bits longer.
        IpAddr::V4(v4) if ip.is_ipv6() && range.bits >= 96 => format!("{v4}/{}", range.bits - 96),
        ip => format!("{ip}/{}", range.bits),
    };
    if text != canonical {
        let detail = format!("must be in canonical form ({})", quote(&canonical));
        errors.push(Error::invalid(path, text, detail));
    }
}

/// Validates a CIDR in a field that predates [`cidr`] (`IsValidCIDRForLegacyField`). Values in `old` are
/// always valid.
pub(crate) fn legacy_cidr(
    path: &Path<'_>,
    text: &str,
    old: &BTreeSet<&str>,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    let loosely = spelling == Spelling::Loose && Cidr::parse(text).is_some();
    if !loosely && !old.contains(text) {
        errors.extend(strict(text).map(|detail| Error::invalid(path, text, detail)));
    }
}

/// Validates a CIDR that must be in canonical form.
pub(crate) fn cidr(path: &Path<'_>, text: &str, errors: &mut ErrorList) {
    if let Some(detail) = strict(text) {
        errors.push(Error::invalid(path, text, detail));
        return;
    }
    let Some(Cidr { network, bits }) = Cidr::parse(text) else { return };
    let canonical = format!("{network}/{bits}");
    if text != canonical {
        let detail = format!("must be in canonical form (\"{canonical}\")");
        errors.push(Error::invalid(path, text, detail));
    }
}

/// Validates an IP address in a field that predates strict rules. Values in `old` are always valid.
pub(crate) fn legacy_ip(
    path: &Path<'_>,
    text: &str,
    old: &BTreeSet<&str>,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    if !old.contains(text) {
        invalid_each(path, text, is_valid_legacy_ip(text, spelling), errors);
    }
}

/// Returns the reason why a CIDR is invalid or ambiguous.
fn strict(text: &str) -> Option<&'static str> {
    let Some(range) = Cidr::parse(text) else {
        return Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let (ip, bits) = text.split_once('/')?;
    let padded = bits.len() > 1 && bits.starts_with('0');
    match ip.parse::<IpAddr>() {
        Ok(_) if padded => Some("must not have leading 0s in IP or prefix length"),
        Err(_) => Some("must not have leading 0s in IP or prefix length"),
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            Some("must not have an IPv4-mapped IPv6 address")
        }
        Ok(ip) if ip != range.network => Some("must not have bits set beyond the prefix length"),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, canonical: bool, expected: &[&str]) {
        let mut errors = ErrorList::new();
        if canonical {
            cidr(&Path::root("c"), text, &mut errors)
        } else {
            legacy(text, Spelling::Strict, &mut errors)
        }
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn ambiguous_ranges_are_refused() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8::/64", "1.2.3.4/32", "2001:DB8::/64", "old"]
        {
            check(text, false, &[]);
        }
        let invalid = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        for text in
            ["", "10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "x/8", "10.0.0.0/+8"]
        {
            check(text, false, &[invalid]);
        }
        check("010.0.0.0/8", false, &["must not have leading 0s in IP or prefix length"]);
        check("10.0.0.0/08", false, &["must not have leading 0s in IP or prefix length"]);
        check("::ffff:10.0.0.0/104", false, &["must not have an IPv4-mapped IPv6 address"]);
        check("10.0.0.1/8", false, &["must not have bits set beyond the prefix length"]);
    }

    fn legacy(text: &str, spelling: Spelling, errors: &mut ErrorList) {
        legacy_cidr(&Path::root("c"), text, &BTreeSet::from(["old"]), spelling, errors);
    }

    #[test]
    fn loose_spelling_needs_only_a_range() {
        let check = |text: &str, expected: usize| {
            let mut errors = ErrorList::new();
            legacy(text, Spelling::Loose, &mut errors);
            assert_eq!(errors.len(), expected, "{text}");
        };
        for text in ["10.0.0.0/8", "010.0.0.0/8", "10.0.0.0/08", "::ffff:10.0.0.0/104", "10.0.0.1/8", "old"] {
            check(text, 0);
        }
        for text in ["", "10.0.0.0", "10.0.0.0/33", "x/8"] {
            check(text, 1);
        }
    }

    #[test]
    fn newer_fields_take_the_canonical_spelling() {
        check("2001:db8::/64", true, &[]);
        check("2001:DB8::/64", true, &["must be in canonical form (\"2001:db8::/64\")"]);
    }

    #[test]
    fn ranges_contain_their_addresses() {
        let contains = |range: &str, ip: &str| {
            Cidr::parse(range).zip(ip.parse().ok()).is_some_and(|(range, ip)| range.contains(ip))
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1") && contains("::/0", "::1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0") && !contains("0.0.0.0/0", "::1"));
    }
}
