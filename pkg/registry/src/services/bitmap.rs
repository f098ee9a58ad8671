//! Bitmap of allocated node ports in stored form: a number whose bits are the ports of a range (upstream's
//! `allocator/bitmap.go`, and `calculateRangeOffset` of its `portallocator`).

use std::fmt;
use std::ops::RangeInclusive;

/// Bounds of the static band: ports at the lower end of a range that dynamic allocation uses last, so that
/// they remain for explicit choices. Its size is 1/32 of the range. A range that is not larger than the lower
/// bound has no band (KEP-3668).
const STATIC_BAND: (u32, u32) = (16, 128);
const STATIC_SHARE: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortRange {
    base: u32,
    size: u32,
}

impl PortRange {
    pub(super) fn new(ports: &RangeInclusive<u16>) -> Self {
        let base = u32::from(*ports.start());
        let last = u32::from(*ports.end());
        PortRange { base, size: (last + 1).saturating_sub(base) }
    }

    /// Parses `30000-32767`, the stored form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (base, last) = text.split_once('-')?;
        Some(PortRange::new(&(base.parse().ok()?..=last.parse().ok()?)))
    }

    pub(super) fn position(&self, port: i64) -> Option<u32> {
        let position = u32::try_from(port).ok()?.checked_sub(self.base)?;
        (position < self.size).then_some(position)
    }

    pub(super) fn port(&self, position: u32) -> i64 {
        (self.base + position).into()
    }

    /// Number of ports.
    pub(super) fn size(self) -> u32 {
        self.size
    }

    /// Size of the static band.
    pub(super) fn band(self) -> u32 {
        let (least, most) = STATIC_BAND;
        if self.size <= least { 0 } else { (self.size / STATIC_SHARE).clamp(least, most) }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.base, (self.base + self.size).saturating_sub(1))
    }
}

/// Set of positions, as bytes of a number in little-endian order.
#[derive(Debug, Clone, Default)]
pub(super) struct Bitmap(Vec<u8>);

/// Sets are equal if they have the same members; trailing zero bytes are ignored.
impl PartialEq for Bitmap {
    fn eq(&self, other: &Self) -> bool {
        self.members().eq(other.members())
    }
}

impl Bitmap {
    /// Parses the stored form, a big-endian number.
    pub(super) fn from_stored(bytes: &[u8]) -> Self {
        Bitmap(bytes.iter().rev().copied().collect())
    }

    /// Encodes as a big-endian number without leading zeros.
    pub(super) fn to_stored(&self) -> Vec<u8> {
        self.0.iter().rev().copied().skip_while(|byte| *byte == 0).collect()
    }

    pub(super) fn has(&self, position: u32) -> bool {
        let (byte, bit) = byte_and_bit(position);
        self.0.get(byte).is_some_and(|byte| byte & bit != 0)
    }

    /// Adds a member. Returns true if it is new.
    pub(super) fn insert(&mut self, position: u32) -> bool {
        let (byte, bit) = byte_and_bit(position);
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        let new = !self.has(position);
        if let Some(byte) = self.0.get_mut(byte) {
            *byte |= bit;
        }
        new
    }

    pub(super) fn remove(&mut self, position: u32) {
        let (byte, bit) = byte_and_bit(position);
        if let Some(byte) = self.0.get_mut(byte) {
            *byte &= !bit;
        }
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// In ascending order.
    pub(super) fn members(&self) -> impl Iterator<Item = u32> {
        let positions = (0_u32..).take(self.0.len() * 8);
        positions.filter(|position| self.has(*position))
    }

    /// Returns a free position of `range`, outside the static band if possible. `random` returns uniformly
    /// distributed numbers.
    pub(super) fn free(&self, size: u32, band: u32, random: impl Fn() -> u32) -> Option<u32> {
        let band = band.min(size);
        let parts = [(band, size - band), (0, band)];
        parts.into_iter().filter(|(_, count)| *count > 0).find_map(|(from, count)| {
            let start = random() % count;
            (0..count).map(|step| from + (start + step) % count).find(|position| !self.has(*position))
        })
    }
}

/// Byte index of a position, with the bit in it.
fn byte_and_bit(position: u32) -> (usize, u8) {
    ((position / 8) as usize, 1 << (position % 8))
}
