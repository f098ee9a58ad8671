//! Truncation of texts from other programs.

use std::fmt::{self, Display, Write};

/// Writer that accepts a limited number of bytes and fails afterwards, so that a long text is never in memory.
struct Truncating {
    text: String,
    bytes_max: usize,
}

impl Write for Truncating {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let remaining = self.bytes_max.saturating_sub(self.text.len());
        let end = part.floor_char_boundary(remaining);
        self.text.push_str(part.get(..end).unwrap_or_default());
        if end < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Formats `value`. The result has at most `bytes_max` bytes and ends at a character boundary.
pub(super) fn truncated(value: &dyn Display, bytes_max: usize) -> String {
    let mut out = Truncating { text: String::new(), bytes_max };
    // An error means that the text is truncated.
    let _ = write!(out, "{value}");
    out.text
}
