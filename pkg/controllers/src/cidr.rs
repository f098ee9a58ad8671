//! Ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    pub network: IpAddr,
    /// Length of the prefix in bits.
    pub prefix_len: u8,
}

impl Cidr {
    /// Parses `10.0.0.0/24`. Clears bits beyond the prefix, as upstream does.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix_len) = text.split_once('/')?;
        let digits = !prefix_len.is_empty() && prefix_len.bytes().all(|b| b.is_ascii_digit());
        let address: IpAddr = address.parse().ok()?;
        let prefix_len: u8 = prefix_len.parse().ok()?;
        let network = match address {
            IpAddr::V4(v4) => {
                let host_bits = 32_u32.checked_sub(prefix_len.into())?;
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(host_bits).unwrap_or(0)))
            }
            IpAddr::V6(v6) => {
                let host_bits = 128_u32.checked_sub(prefix_len.into())?;
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(host_bits).unwrap_or(0)))
            }
        };
        digits.then_some(Cidr { network, prefix_len })
    }

    /// Returns the address of the `kubernetes` Service in a primary range.
    pub fn first_host(&self) -> IpAddr {
        match self.network {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits().saturating_add(1))),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits().saturating_add(1))),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cidr_is_reduced_to_its_network() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let got = Cidr::parse(text).map(|cidr| (cidr.to_string(), cidr.first_host().to_string()));
            assert_eq!(got, expected.map(|(cidr, host)| (cidr.to_owned(), host.to_owned())), "{text}");
        };
        check("10.0.0.0/24", Some(("10.0.0.0/24", "10.0.0.1")));
        check("10.96.3.7/12", Some(("10.96.0.0/12", "10.96.0.1")));
        check("0.0.0.0/0", Some(("0.0.0.0/0", "0.0.0.1")));
        check("10.0.0.1/32", Some(("10.0.0.1/32", "10.0.0.2")));
        check("fd00::1:2/112", Some(("fd00::1:0/112", "fd00::1:1")));
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0/24", "fd00::/129", "10.0.0.0/+4", "", "/"] {
            check(text, None);
        }
    }
}
