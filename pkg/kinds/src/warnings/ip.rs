//! Warnings about address spellings that old fields accept but other software interprets differently: leading
//! zeros, IPv4 addresses in IPv6 form, bits after the prefix, long forms
//! (`apimachinery/pkg/util/validation/ip.go`, KEP-4858).

use super::collector::Warnings;
use crate::validation::canonical_ip;
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Warns about the spelling of an address. Invalid addresses are left to validation.
pub(crate) fn address(path: &Path<'_>, value: &str, out: &mut Warnings) {
    let Some(ip) = canonical_ip(value) else { return };
    match strict_address(value) {
        None => out.add(format_args!(
            "{path}: non-standard IP address {} is invalid: use {}",
            Quoted(value),
            Quoted(&ip.to_canonical().to_string())
        )),
        Some(ip @ IpAddr::V6(_)) if ip.to_string() != value => out.add(format_args!(
            "{path}: IPv6 address {} should be in RFC 5952 canonical format ({})",
            Quoted(value),
            Quoted(&ip.to_string())
        )),
        Some(_) => {}
    }
}

pub(crate) fn range(path: &Path<'_>, value: &str, out: &mut Warnings) {
    let Some(range) = parse_range(value) else { return };
    let network = range.network();
    let ambiguous = network.to_canonical() != range.ip.to_canonical();
    if ambiguous {
        out.add(format_args!(
            "{path}: CIDR value {} is ambiguous in this context (should be {} or {}?)",
            Quoted(value),
            Quoted(&range.network_text()),
            Quoted(&format!("{}/{}", range.ip.to_canonical(), width(range.ip)))
        ));
    }
    let strict = value.rsplit_once('/').filter(|(_, bits)| bits.len() == 1 || !bits.starts_with('0'));
    match strict.and_then(|(ip, _)| strict_address(ip)) {
        None => out.add(format_args!(
            "{path}: non-standard CIDR value {} is invalid: use {}",
            Quoted(value),
            Quoted(&range.network_text())
        )),
        Some(ip @ IpAddr::V6(_)) if !ambiguous => {
            let canonical = format!("{ip}/{}", range.bits);
            if canonical != value {
                out.add(format_args!(
                    "{path}: IPv6 CIDR value {} should be in RFC 5952 canonical format ({})",
                    Quoted(value),
                    Quoted(&canonical)
                ));
            }
        }
        Some(_) => {}
    }
}

/// Parses an address in an unambiguous spelling: no leading zeros, no IPv4 within IPv6.
fn strict_address(value: &str) -> Option<IpAddr> {
    value.parse().ok().filter(|ip: &IpAddr| ip.to_canonical() == *ip)
}

/// Address with its prefix length.
struct Range {
    ip: IpAddr,
    bits: u32,
}

/// Parses a CIDR leniently: decimal numbers may have leading zeros.
fn parse_range(value: &str) -> Option<Range> {
    let (ip, bits) = value.split_once('/')?;
    let ip = canonical_ip(ip)?;
    let bits = Some(bits).filter(|bits| bits.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
    (bits <= width(ip)).then_some(Range { ip, bits })
}

fn width(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS }
}

impl Range {
    /// Returns the address without the bits after the prefix.
    fn network(&self) -> IpAddr {
        match self.ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(Ipv4Addr::BITS - self.bits).unwrap_or(0);
                Ipv4Addr::from_bits(ip.to_bits() & mask).into()
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(Ipv6Addr::BITS - self.bits).unwrap_or(0);
                Ipv6Addr::from_bits(ip.to_bits() & mask).into()
            }
        }
    }

    /// Formats the network as a CIDR, of IPv4 if it lies within IPv6.
    fn network_text(&self) -> String {
        let network = self.network().to_canonical();
        format!("{network}/{}", self.bits - (width(self.ip) - width(network)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&Path<'_>, &str, &mut Warnings), value: &str, expected: &[&str]) {
        let mut out = Warnings::default();
        rule(&Path::root("f"), value, &mut out);
        assert_eq!(out.into_texts(), expected, "{value}");
    }

    #[test]
    fn addresses_have_one_spelling() {
        for fine in ["1.2.3.4", "0.0.0.0", "2001:db8::1", "::", "::102:304", "x", "", "fe80::1%eth0"] {
            check(address, fine, &[]);
        }
        check(
            address,
            "010.0.0.1",
            &["f: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""],
        );
        check(
            address,
            "::ffff:1.2.3.4",
            &["f: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\""],
        );
        check(
            address,
            "2001:db8:0:0::ABC",
            &[
                "f: IPv6 address \"2001:db8:0:0::ABC\" should be in RFC 5952 canonical format (\"2001:db8::abc\")",
            ],
        );
    }

    #[test]
    fn ranges_have_one_spelling() {
        for fine in
            ["1.2.3.0/24", "0.0.0.0/0", "2001:db8::/64", "::/0", "1.2.3.4/32", "1.2.3.4", "1.2.3.4/33"]
        {
            check(range, fine, &[]);
        }
        check(
            range,
            "1.2.3.4/24",
            &["f: CIDR value \"1.2.3.4/24\" is ambiguous in this context (should be \"1.2.3.0/24\" or \
               \"1.2.3.4/32\"?)"],
        );
        check(
            range,
            "01.2.3.0/24",
            &["f: non-standard CIDR value \"01.2.3.0/24\" is invalid: use \"1.2.3.0/24\""],
        );
        check(
            range,
            "1.2.3.0/024",
            &["f: non-standard CIDR value \"1.2.3.0/024\" is invalid: use \"1.2.3.0/24\""],
        );
        check(
            range,
            "2001:0db8::/64",
            &["f: IPv6 CIDR value \"2001:0db8::/64\" should be in RFC 5952 canonical format \
               (\"2001:db8::/64\")"],
        );
    }

    #[test]
    fn a_range_may_be_wrong_in_two_ways() {
        check(
            range,
            "::ffff:1.2.3.4/120",
            &[
                "f: CIDR value \"::ffff:1.2.3.4/120\" is ambiguous in this context (should be \
                 \"1.2.3.0/24\" or \"1.2.3.4/128\"?)",
                "f: non-standard CIDR value \"::ffff:1.2.3.4/120\" is invalid: use \"1.2.3.0/24\"",
            ],
        );
        check(
            range,
            "2001:DB8::1/64",
            &["f: CIDR value \"2001:DB8::1/64\" is ambiguous in this context (should be \
               \"2001:db8::/64\" or \"2001:db8::1/128\"?)"],
        );
    }
}
