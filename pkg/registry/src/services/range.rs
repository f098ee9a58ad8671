//! The addresses of a service range, as numbers: which of them services may have, and in which order free
//! ones are looked for (KEP-3070, upstream's `ipallocator.go`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kinds::validation::canonical_ip;

/// Addresses at the lower end of a range that are left to those who choose their own, as long as there are
/// others: a sixteenth of it, within these bounds. Ranges of no more addresses than the least have none.
const STATIC_BAND: (u128, u128) = (16, 256);
const STATIC_SHARE: u128 = 16;
/// The shortest prefix of a range of IPv6.
const V6_PREFIX_MIN: u8 = 64;

/// Reads an address in any spelling that services have. IPv4 in the clothes of IPv6 is IPv4.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    canonical_ip(text).map(|address| address.to_canonical())
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// As `ipFamilies` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    /// The one that it is not.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        }
    }

    /// The family of an address. IPv4 in the clothes of IPv6 is IPv4.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    /// The family of an address in any spelling that services have.
    pub(super) fn of_text(address: &str) -> Option<Self> {
        parse_address(address).map(Family::of)
    }

    /// Reads a name.
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

/// A range that services have addresses of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressRange {
    /// As it was written.
    pub(super) text: String,
    pub(super) family: Family,
    network: u128,
    /// The last address, which IPv4 broadcasts to.
    end: u128,
    /// How many addresses at the lower end are the last ones to be given away.
    band: u128,
}

impl AddressRange {
    /// Reads `10.0.0.0/24`. `None` for what is no range, or too large a one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
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

    /// The first address that a service may have, and the one behind the last.
    fn usable(&self) -> (u128, u128) {
        let first = self.network + 1;
        let behind = if self.family == Family::V4 { self.end } else { self.end.saturating_add(1) };
        (first, behind.max(first))
    }

    /// How many addresses services may have.
    pub(super) fn offered(&self) -> u128 {
        let (first, behind) = self.usable();
        behind - first
    }

    /// Whether a service may have the address.
    pub(super) fn offers(&self, address: IpAddr) -> bool {
        let (first, behind) = self.usable();
        Family::of(address) == self.family && (first..behind).contains(&number(address))
    }

    /// The network's own address, which stands for an allocated one where nothing is allocated.
    pub(super) fn network(&self) -> IpAddr {
        self.family.address(self.network)
    }

    /// Every address that a service may have, those of the static band last. Either part begins where its
    /// random number says, and goes around.
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

/// `count` numbers from `from` on, beginning somewhere among them.
fn walk(from: u128, count: u128, start: u128) -> impl Iterator<Item = u128> + Send {
    (0..count).map(move |step| from + (start % count + step) % count)
}
