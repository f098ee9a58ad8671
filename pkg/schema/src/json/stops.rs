//! Finds the possible ends of strings: 64 bytes of text become one word with a bit per byte, so that most
//! strings end without a loop.

use wide::u8x16;

const BLOCK: usize = 64;

/// The bytes of one block at which string scanning must stop.
#[derive(Default)]
pub(super) struct Stops {
    /// One more than the number of the current block.
    block: usize,
    /// Bits of its quotes, backslashes and control characters; the first byte is the lowest bit.
    bits: u64,
}

impl Stops {
    /// Position of the first quote, backslash or control character at or after `at`; the length of the text
    /// or more if there is none.
    #[inline]
    pub(super) fn next(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            let block = at / BLOCK + 1;
            if block != self.block {
                self.read(text, block);
            }
            let remaining_bits = self.bits >> (at % BLOCK);
            if remaining_bits != 0 {
                return at + remaining_bits.trailing_zeros() as usize;
            }
            at = block * BLOCK;
        }
    }

    #[inline(never)]
    fn read(&mut self, text: &[u8], block: usize) {
        self.block = block;
        let rest = text.get((block - 1) * BLOCK..).unwrap_or_default();
        self.bits = match rest.first_chunk::<BLOCK>() {
            Some(bytes) => stops(bytes),
            None => {
                // Missing bytes are stops, too.
                let mut last = [0; BLOCK];
                for (to, from) in last.iter_mut().zip(rest) {
                    *to = *from;
                }
                stops(&last)
            }
        };
    }
}

#[inline]
fn stops(bytes: &[u8; BLOCK]) -> u64 {
    let mut bits = 0;
    let (parts, _) = bytes.as_chunks::<16>();
    for (at, part) in parts.iter().enumerate() {
        let part = u8x16::new(*part);
        let control = part.min(u8x16::splat(0x1f)).simd_eq(part);
        let stop = part.simd_eq(u8x16::splat(b'"')) | part.simd_eq(u8x16::splat(b'\\')) | control;
        bits |= u64::from(stop.to_bitmask()) << (16 * at);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference: the first stop, byte by byte.
    fn first(text: &[u8], at: usize) -> usize {
        let stop = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
        text.iter().skip(at).position(stop).map_or(text.len(), |offset| at + offset)
    }

    #[test]
    fn first_stop_is_found_from_every_position() {
        // All byte values at changing distances, so that there are blocks with one, many and no stops.
        let bytes = |seed: usize| (0..700_usize).map(move |at| (at * at * seed / 97 % 256) as u8);
        for text in [1, 3, 13].map(|seed| bytes(seed).collect::<Vec<_>>()) {
            for len in [0, 1, 15, 63, 64, 65, 127, 128, 700] {
                let text = text.get(..len).unwrap_or_default();
                let mut stops = Stops::default();
                for at in 0..=len {
                    assert_eq!(stops.next(text, at).min(len), first(text, at), "from {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn text_without_stops_ends_at_its_end() {
        for len in [0, 1, 64, 129] {
            assert!(Stops::default().next(&vec![b'a'; len], 0) >= len);
        }
    }

    #[test]
    fn non_ascii_bytes_are_not_stops() {
        let text: Vec<u8> = (0x80..=0xff).collect();
        assert!(Stops::default().next(&text, 0) >= text.len());
    }
}
