//! IP addresses as names: upstream's strict rule (`IsValidIP`), which accepts a single spelling of each
//! address.

use component_base::features::{Gate, Gates};
use std::net::IpAddr;

const NOT_AN_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Allowed spellings of addresses and CIDRs in fields that predate [`is_valid_ip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Any unambiguous spelling.
    Strict,
    /// Also leading zeros, IPv4 addresses inside IPv6 ones, and CIDRs with bits after the prefix.
    Loose,
}

impl Spelling {
    pub fn of(gates: &Gates) -> Self {
        if gates.enabled(Gate::StrictIPCIDRValidation) { Spelling::Strict } else { Spelling::Loose }
    }
}

/// Checks that a text is an IP address in canonical form (RFC 5952), without leading zeros, zone or embedded
/// IPv4 address. Returns the errors.
pub fn is_valid_ip(text: &str) -> Vec<String> {
    match text.parse::<IpAddr>() {
        Err(_) if without_leading_zeros(text).parse::<IpAddr>().is_ok() => {
            vec!["must not have leading 0s".to_owned()]
        }
        Err(_) => vec![NOT_AN_IP.to_owned()],
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            vec!["must not be an IPv4-mapped IPv6 address".to_owned()]
        }
        Ok(ip) => match ip.to_string() {
            canonical if canonical == text => Vec::new(),
            canonical => vec![format!("must be in canonical form (\"{canonical}\")")],
        },
    }
}

/// Checks an address in a field that predates [`is_valid_ip`] (`IsValidIPForLegacyField`). Returns the
/// errors.
pub fn is_valid_legacy_ip(text: &str, spelling: Spelling) -> Vec<String> {
    match text.parse::<IpAddr>() {
        _ if spelling == Spelling::Loose && canonical_ip(text).is_some() => Vec::new(),
        Ok(IpAddr::V4(_)) => Vec::new(),
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_none() => Vec::new(),
        _ => is_valid_ip(text),
    }
}

/// Parses an address leniently, as old fields may contain it. Decimal parts may have leading zeros, which do
/// not mean octal.
pub fn canonical_ip(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| without_leading_zeros(text).parse().ok())
}

fn without_leading_zeros(text: &str) -> String {
    let parts = text.split_inclusive([':', '.']).map(|part| {
        let digits_from = part.len() - part.trim_start_matches('0').len();
        let rest = part.get(digits_from..).unwrap_or_default();
        let nothing_left = digits_from > 0 && !rest.starts_with(|c: char| c.is_ascii_hexdigit());
        if nothing_left { part.get(digits_from - 1..).unwrap_or_default() } else { rest }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(is_valid_ip(text), expected, "{text}");
    }

    #[test]
    fn an_ip_has_one_spelling() {
        check("192.168.0.1", &[]);
        check("0.0.0.0", &[]);
        check("2001:db8::ffff", &[]);
        check("::", &[]);
        check("010.0.0.1", &["must not have leading 0s"]);
        check("192.168.001.001", &["must not have leading 0s"]);
        check("2001:DB8::1", &["must be in canonical form (\"2001:db8::1\")"]);
        check("2001:db8:0::1", &["must be in canonical form (\"2001:db8::1\")"]);
        check("2001:0db8::1", &["must be in canonical form (\"2001:db8::1\")"]);
        check("::ffff:1.2.3.4", &["must not be an IPv4-mapped IPv6 address"]);
        check("::ffff:01.2.3.4", &["must not have leading 0s"]);
        for text in ["", "1.2.3", "1.2.3.4/24", "fe80::1%eth0", "1a", "a.b", "256.1.1.1", "1.2.3.4.", "00"] {
            check(text, &[NOT_AN_IP]);
        }
    }

    #[test]
    fn old_fields_take_other_spellings_of_one_address() {
        for text in ["2001:DB8::1", "2001:0db8::1", "10.0.0.1"] {
            assert_eq!(is_valid_legacy_ip(text, Spelling::Strict), Vec::<String>::new(), "{text}");
        }
        let check = |text, expected: &[&str]| {
            assert_eq!(is_valid_legacy_ip(text, Spelling::Strict), expected, "{text}");
            assert_eq!(is_valid_legacy_ip(text, Spelling::Loose), Vec::<String>::new(), "{text}");
        };
        check("010.0.0.1", &["must not have leading 0s"]);
        check("::ffff:1.2.3.4", &["must not be an IPv4-mapped IPv6 address"]);
        for spelling in [Spelling::Strict, Spelling::Loose] {
            assert_eq!(is_valid_legacy_ip("x", spelling), [NOT_AN_IP]);
        }
    }

    #[test]
    fn old_spellings_still_parse() {
        assert_eq!(canonical_ip("010.000.0.01").map(|ip| ip.to_string()).as_deref(), Some("10.0.0.1"));
        assert_eq!(canonical_ip("x"), None);
    }
}
