//! A buffer that is filled from its end, so that lengths are known when they are written.

/// Writes backwards into the tail of a `Vec`. Until [`Reverse::finish`] the vector contains padding.
pub(super) struct Reverse<'o> {
    buffer: &'o mut Vec<u8>,
    /// Original length of the vector.
    base: usize,
    /// Start of the written bytes; they end at the end of the vector.
    at: usize,
}

impl<'o> Reverse<'o> {
    pub(super) fn new(buffer: &'o mut Vec<u8>) -> Reverse<'o> {
        let base = buffer.len();
        Reverse { buffer, base, at: base }
    }

    /// Number of written bytes.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.at
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.at - self.base < bytes.len() {
            self.grow(bytes.len());
        }
        let start = self.at - bytes.len();
        if let Some(target) = self.buffer.get_mut(start..self.at) {
            target.copy_from_slice(bytes);
        }
        self.at = start;
    }

    #[inline]
    pub(super) fn put_varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.put(&[value as u8]);
        }
        let mut bytes = [0; 10];
        let mut len = 0;
        let mut value = value;
        for byte in &mut bytes {
            len += 1;
            *byte = value as u8 & 0x7f;
            value >>= 7;
            if value == 0 {
                break;
            }
            *byte |= 0x80;
        }
        self.put(bytes.get(..len).unwrap_or_default());
    }

    /// Writes length and key of everything written since `written` had this value.
    #[inline]
    pub(super) fn close(&mut self, tag: u32, end: usize) {
        self.put_varint((self.len() - end) as u64);
        self.put_varint(u64::from(tag));
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let old_len = self.buffer.len();
        let used = self.len();
        let capacity = (used + more).max(256) * 2;
        self.buffer.resize(self.base + capacity, 0);
        let at = self.buffer.len() - used;
        self.buffer.copy_within(old_len - used..old_len, at);
        self.at = at;
    }

    /// Moves the written bytes behind the vector's original content.
    pub(super) fn finish(self) {
        let used = self.len();
        self.buffer.copy_within(self.at.., self.base);
        self.buffer.truncate(self.base + used);
    }

    /// Restores the vector's original content.
    pub(super) fn abandon(self) {
        self.buffer.truncate(self.base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_writes_read_forwards() {
        let mut out = b"kept".to_vec();
        let mut reverse = Reverse::new(&mut out);
        for n in (0..1000_u16).rev() {
            let mark = reverse.len();
            reverse.put(&n.to_be_bytes());
            reverse.close(0x0a, mark);
        }
        reverse.finish();
        let expected: Vec<u8> = (0..1000_u16).flat_map(|n| [0x0a, 2, (n >> 8) as u8, n as u8]).collect();
        assert_eq!(out.get(..4), Some(&b"kept"[..]));
        assert_eq!(out.get(4..), Some(&expected[..]));
    }

    #[test]
    fn varints_are_minimal() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut backwards = Vec::new();
            let mut forwards = Vec::new();
            let mut reverse = Reverse::new(&mut backwards);
            reverse.put_varint(value);
            reverse.finish();
            super::super::wire::put_varint(value, &mut forwards);
            assert_eq!(backwards, forwards);
        }
    }
}
