//! IP addresses and networks, parsed like Go's `net/netip`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::ParseError;
use apimachinery::go_quote::Quoted;

/// A network: an address, with possibly non-zero host bits, and the prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// Address as written, including its host bits.
    pub address: IpAddr,
    /// Prefix length in bits.
    pub bits: u8,
}

/// Parses an address for the `ip` function: without a zone, and not an IPv4-mapped IPv6 address.
pub fn parse_ip(text: &str) -> Result<IpAddr, ParseError> {
    let quoted = Quoted(text);
    match parse_addr(text) {
        Err(error) => Err(ParseError::new(format!(
            "IP Address {quoted} parse error during conversion from string: {error}"
        ))),
        Ok((_, true)) => Err(ParseError::new(format!("IP address {quoted} with zone value is not allowed"))),
        Ok((address, _)) if is_mapped(address) => {
            Err(ParseError::new(format!("IPv4-mapped IPv6 address {quoted} is not allowed")))
        }
        Ok((address, _)) => Ok(address),
    }
}

/// Parses a network for the `cidr` function.
pub fn parse_cidr(text: &str) -> Result<Cidr, ParseError> {
    const CONTEXT: &str = "network address parse error during conversion from string";
    let cidr = parse_prefix(text).map_err(|error| {
        ParseError::new(format!("{CONTEXT}: {CONTEXT}: netip.ParsePrefix({}): {error}", Quoted(text)))
    })?;
    if is_mapped(cidr.address) {
        return Err(ParseError::new(format!(
            "{CONTEXT}: IPv4-mapped IPv6 address {} is not allowed",
            Quoted(text)
        )));
    }
    Ok(cidr)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn parse_prefix(text: &str) -> Result<Cidr, ParseError> {
    let (address, digits) = text.rsplit_once('/').ok_or_else(|| ParseError::new("no '/'"))?;
    let (address, zone) = parse_addr(address)?;
    if zone {
        return Err(ParseError::new("IPv6 zones cannot be present in a prefix"));
    }
    let canonical = digits.len() <= 1 || matches!(digits.as_bytes()[0], b'1'..=b'9');
    let bits = apimachinery::strconv::atoi(digits).ok().filter(|_| canonical);
    let bits = bits.ok_or_else(|| ParseError::new(format!("bad bits after slash: {}", Quoted(digits))))?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    match u8::try_from(bits) {
        Ok(bits) if bits <= max => Ok(Cidr { address, bits }),
        _ => Err(ParseError::new("prefix length out of range")),
    }
}

/// Go's `netip.ParseAddr`: returns the address and true if it has a zone.
pub(super) fn parse_addr(text: &str) -> Result<(IpAddr, bool), ParseError> {
    let parsed = match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => parse_v4(text).map(|bytes| (IpAddr::V4(Ipv4Addr::from(bytes)), false)),
        Some(b':') => parse_v6(text),
        Some(_) => Err(("missing IPv6 address", "")),
        None => Err(("unable to parse IP", "")),
    };
    parsed.map_err(|(message, at)| {
        let at = if at.is_empty() { String::new() } else { format!(" (at {})", Quoted(at)) };
        ParseError::new(format!("ParseAddr({}): {message}{at}", Quoted(text)))
    })
}

/// Parse error, and the rest of the text from its position for errors that show it.
type AddressError<'a> = (&'static str, &'a str);

fn parse_v4(text: &str) -> Result<[u8; 4], AddressError<'_>> {
    let mut fields = [0u8; 4];
    let mut place = 0;
    let mut value = 0u32;
    let mut digits = 0;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if at == 0 || at == bytes.len() - 1 || bytes[at - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[at..]));
                }
                if place == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                fields[place] = value as u8;
                (place, value, digits) = (place + 1, 0, 0);
            }
            _ => return Err(("unexpected character", text.get(at..).unwrap_or_default())),
        }
    }
    if place < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(fields)
}

fn parse_v6(text: &str) -> Result<(IpAddr, bool), AddressError<'_>> {
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let mut bytes = Vec::with_capacity(16);
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        (ellipsis, rest) = (Some(0), after);
    }
    while !rest.is_empty() && bytes.len() < 16 {
        let (value, digits) = group(rest)?;
        if rest[digits..].starts_with('.') {
            if ellipsis.is_none() && bytes.len() != 12 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if bytes.len() > 12 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            bytes.extend(parse_v4(rest)?);
            rest = "";
            break;
        }
        bytes.extend(value.to_be_bytes());
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(("multiple :: in address", rest));
            }
            (ellipsis, rest) = (Some(bytes.len()), after);
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match ellipsis {
        Some(_) if bytes.len() == 16 => {
            return Err(("the :: must expand to at least one field of zeros", ""));
        }
        Some(at) => drop(bytes.splice(at..at, vec![0; 16 - bytes.len()])),
        None if bytes.len() < 16 => return Err(("address string too short", "")),
        None => {}
    }
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| ("trailing garbage after address", ""))?;
    Ok((IpAddr::V6(Ipv6Addr::from(bytes)), zone))
}

/// Parses a group of hexadecimal digits into its value and length.
fn group(text: &str) -> Result<(u16, usize), AddressError<'_>> {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    match digits {
        0 => Err(("each colon-separated field must have at least one digit", text)),
        1..=4 => Ok((u16::from_str_radix(&text[..digits], 16).unwrap_or_default(), digits)),
        _ => Err(("each group must have 4 or less digits", text)),
    }
}

impl Cidr {
    /// Returns true if an address is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && masked(self.address, self.bits) == masked(address, self.bits)
    }

    /// Returns true if another network is a subset of this one.
    pub fn contains_cidr(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }

    /// Returns the network with zero host bits.
    pub fn masked(&self) -> Cidr {
        Cidr { address: masked(self.address, self.bits), bits: self.bits }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

/// Returns true for link-local multicast addresses.
pub fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => matches!(v4.octets(), [224, 0, 0, _]),
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

/// Returns true for link-local unicast addresses.
pub fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Returns true for global unicast addresses, including private ones.
pub fn is_global_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_unspecified()
        && !broadcast
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_equal_netips() {
        let cases = [
            ("192.168.0.1.0", "IPv4 address too long"),
            ("1.2.3", "IPv4 address too short"),
            ("01.2.3.4", "IPv4 field has octet with leading zero"),
            ("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")"),
            ("2001:db8:::68", "each colon-separated field must have at least one digit (at \":68\")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("1:2:3:4:5:6:7", "address string too short"),
            ("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")"),
            ("::12345", "each group must have 4 or less digits (at \"12345\")"),
            ("abc", "unable to parse IP"),
        ];
        for (text, message) in cases {
            let quoted = Quoted(text);
            let expected = format!(
                "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {message}"
            );
            assert_eq!(parse_ip(text), Err(ParseError::new(expected)));
        }
        assert_eq!(
            parse_ip("fe80::1%en0"),
            Err(ParseError::new("IP address \"fe80::1%en0\" with zone value is not allowed"))
        );
        assert!(parse_ip("::ffff:1.2.3.4").is_err());
        assert_eq!(parse_ip("::1.2.3.4").map(|ip| ip.to_string()), Ok("::102:304".to_owned()));
        assert!(parse_cidr("10.0.0.0/08").is_err());
    }

    #[test]
    fn networks_contain_addresses_of_their_family() {
        let network = parse_cidr("192.168.0.0/24").unwrap();
        assert!(network.contains(parse_ip("192.168.0.200").unwrap()));
        assert!(!network.contains(parse_ip("192.168.1.0").unwrap()));
        assert!(!parse_cidr("0.0.0.0/0").unwrap().contains(parse_ip("::1").unwrap()));
        assert!(network.contains_cidr(&parse_cidr("192.168.0.0/25").unwrap()));
        assert!(!network.contains_cidr(&parse_cidr("192.168.0.0/23").unwrap()));
        assert_eq!(parse_cidr("192.168.0.7/24").unwrap().masked().to_string(), "192.168.0.0/24");
    }
}
