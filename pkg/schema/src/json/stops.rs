//! Where strings may end: 64 bytes of the text at a time become one word of which each bit is a byte, so that most
//! strings end without a loop.

use wide::u8x16;

/// How many bytes a block has.
const BLOCK: usize = 64;

/// The bytes of one block of a text at which reading a string has to stop.
#[derive(Default)]
pub(super) struct Stops {
    /// One more than the number of the block that was looked at last.
    block: usize,
    /// Its bytes: quotes, backslashes and control characters, the first one in the lowest bit.
    bits: u64,
}

impl Stops {
    /// Where the first quote, backslash or control character stands that is not before `at`; the length of the
    /// text or more if there is none.
    #[inline]
    pub(super) fn next(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            let block = at / BLOCK + 1;
            if block != self.block {
                self.read(text, block);
            }
            let left = self.bits >> (at % BLOCK);
            if left != 0 {
                return at + left.trailing_zeros() as usize;
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
                // What is missing stops a string, too.
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

    /// Where the first stop is, byte by byte.
    fn first(text: &[u8], at: usize) -> usize {
        let stop = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
        text.iter().skip(at).position(stop).map_or(text.len(), |found| at + found)
    }

    #[test]
    fn the_first_stop_is_found_from_every_place_of_texts_of_every_length() {
        // Every byte there is, at changing distances, so that blocks with one, with many and with no stop come up.
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
    fn a_text_without_a_stop_ends_at_its_end_or_after_it() {
        for len in [0, 1, 64, 129] {
            assert!(Stops::default().next(&vec![b'a'; len], 0) >= len);
        }
    }

    #[test]
    fn bytes_beyond_ascii_are_no_stops() {
        let text: Vec<u8> = (0x80..=0xff).collect();
        assert!(Stops::default().next(&text, 0) >= text.len());
    }
}
