//! Addresses of a service range as numbers: the usable ones, and the search order for free ones (KEP-3070,
//! upstream's `ipallocator.go`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kinds::validation::canonical_ip;

/// Bounds of the static band: addresses at the lower end of a range that dynamic allocation uses last, so
/// that they remain for explicit choices. Its size is 1/16 of the range. A range that is not larger than the
/// lower bound has no band.
const STATIC_BAND: (u128, u128) = (16, 256);
const STATIC_SHARE: u128 = 16;
/// Maximum sizes of stored bitmaps, in bits.
const V4_BITMAP_BITS_MAX: u32 = 1 << 20;
const V6_BITMAP_BITS_MAX: u32 = 65_535;
/// Shortest supported prefix of an IPv6 range.
const V6_PREFIX_MIN: u8 = 64;

/// Parses an address in any notation that services may use. An IPv4-mapped IPv6 address becomes IPv4.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    canonical_ip(text).map(|address| address.to_canonical())
}

/// IP family (KEP-563).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4, including IPv4-mapped IPv6 addresses.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// As in `ipFamilies`.
    pub fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    /// Returns the other family, for the second one of a dual-stack Service.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        }
    }

    /// Returns the family of an address; an IPv4-mapped IPv6 address is IPv4.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    /// Returns the family of an address in any notation that services may use.
    pub(super) fn of_text(address: &str) -> Option<Self> {
        parse_address(address).map(Family::of)
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Family::V4, Family::V6].into_iter().find(|family| family.name() == name)
    }

    fn bits(self) -> u32 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    fn address(self, number: u128) -> IpAddr {
        match self {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX))),
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(number)),
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressRange {
    /// Original text.
    pub(super) text: String,
    pub(super) family: Family,
    network: u128,
    /// Last address, for IPv4 the broadcast address.
    end: u128,
    /// Size of the static band, at the lower end.
    band: u128,
}

impl AddressRange {
    /// Parses `10.0.0.0/24`. Returns `None` for an invalid or too large range.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        let family = Family::of(address);
        let host_bits = family.bits().checked_sub(prefix.into())?;
        if family == Family::V6 && prefix < V6_PREFIX_MIN {
            return None;
        }
        let hosts = 1_u128.checked_shl(host_bits)? - 1;
        let network = number(address) & !hosts;
        let size = hosts + 1;
        let (least, most) = STATIC_BAND;
        let band = if size <= least { 0 } else { (size / STATIC_SHARE).clamp(least, most) };
        Some(AddressRange { text: text.to_owned(), family, network, end: network + hosts, band })
    }

    /// First usable address and the end of the usable ones, exclusive.
    fn usable(&self) -> (u128, u128) {
        let first = self.network + 1;
        let behind = if self.family == Family::V4 { self.end } else { self.end.saturating_add(1) };
        (first, behind.max(first))
    }

    /// Number of usable addresses.
    pub(super) fn usable_count(&self) -> u128 {
        let (first, behind) = self.usable();
        behind - first
    }

    /// True if a service may have the address.
    pub(super) fn is_usable(&self, address: IpAddr) -> bool {
        let (first, behind) = self.usable();
        Family::of(address) == self.family && (first..behind).contains(&number(address))
    }

    /// Number of usable addresses that a stored bitmap covers.
    pub(super) fn positions(&self) -> u32 {
        // As in upstream, the bitmap of an IPv6 range is smaller than the range.
        let most = if self.family == Family::V4 { V4_BITMAP_BITS_MAX } else { V6_BITMAP_BITS_MAX };
        u32::try_from(self.usable_count()).unwrap_or(u32::MAX).min(most)
    }

    /// Number of positions that a bitmap uses last.
    pub(super) fn static_band(&self) -> u32 {
        u32::try_from(self.band).unwrap_or(u32::MAX).min(self.positions())
    }

    /// Returns the position of an address in a stored bitmap; `None` if the bitmap does not cover the address.
    pub(super) fn position(&self, address: IpAddr) -> Option<u32> {
        let position = number(address).checked_sub(self.usable().0).filter(|_| self.is_usable(address))?;
        u32::try_from(position).ok().filter(|position| *position < self.positions())
    }

    /// Returns the address at a position of a stored bitmap.
    pub(super) fn at(&self, position: u32) -> Option<IpAddr> {
        (position < self.positions()).then(|| self.family.address(self.usable().0 + u128::from(position)))
    }

    /// Network address, the result of a dry run's simulated allocation.
    pub(super) fn network(&self) -> IpAddr {
        self.family.address(self.network)
    }

    /// Iterates over every usable address, the static band last. Each of the two parts starts at its random
    /// number and wraps around.
    pub(super) fn candidates(&self, starts: [u64; 2]) -> impl Iterator<Item = IpAddr> + Send + use<> {
        let (first, behind) = self.usable();
        let split = (first + self.band).min(behind);
        let [upper, lower] = starts.map(u128::from);
        let upper = walk(split, behind - split, upper);
        let lower = walk(first, split - first, lower);
        let family = self.family;
        upper.chain(lower).map(move |number| family.address(number))
    }
}

/// Iterates over `count` numbers from `from` on, from a given start with wrap-around.
fn walk(from: u128, count: u128, start: u128) -> impl Iterator<Item = u128> + Send {
    (0..count).map(move |step| from + (start % count + step) % count)
}
