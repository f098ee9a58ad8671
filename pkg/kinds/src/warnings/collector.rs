//! Collects warnings, no more of them than an answer can show.

use std::fmt;

use component_base::features::{Gate, Gates};

/// How many characters of warnings an answer shows before it drops further ones (upstream's
/// `truncateAtTotalRunes`).
const TOTAL_CHARS_MAX: usize = 4 * 1024;
/// How many characters of one warning count for that at most: an answer with too many warnings cuts
/// each of them to this length first (`truncateItemRunes`).
const COUNTED_CHARS_MAX: usize = 256;

/// The different warnings about one object, in order.
///
/// What could not be shown is not kept: an object can give cause for millions of warnings, as a pod does
/// that declares the same port some thousand times.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    gates: Gates,
    texts: Vec<String>,
    chars: usize,
}

impl Warnings {
    /// None yet, on a server with these feature gates.
    pub(crate) fn new(gates: &Gates) -> Self {
        Warnings { gates: *gates, texts: Vec::new(), chars: 0 }
    }

    /// Whether a feature gate is open.
    pub(crate) fn enabled(&self, gate: Gate) -> bool {
        self.gates.enabled(gate)
    }

    /// Adds a warning, unless it is there already or there is no room.
    pub(crate) fn add(&mut self, text: fmt::Arguments<'_>) {
        if self.is_full() {
            return;
        }
        let text = text.to_string();
        if !self.texts.contains(&text) {
            self.chars += text.chars().take(COUNTED_CHARS_MAX).count();
            self.texts.push(text);
        }
    }

    /// Whether everything that is added now is lost.
    pub(crate) fn is_full(&self) -> bool {
        self.chars >= TOTAL_CHARS_MAX
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_kept_once() {
        let mut out = Warnings::default();
        for text in ["a", "b", "a"] {
            out.add(format_args!("{text}"));
        }
        assert_eq!(out.into_texts(), ["a", "b"]);
    }

    #[test]
    fn what_cannot_be_shown_is_not_kept() {
        let mut out = Warnings::default();
        for number in 0..10_000 {
            out.add(format_args!("{number:->1000}"));
        }
        assert!(out.is_full());
        assert_eq!(out.into_texts().len(), TOTAL_CHARS_MAX / COUNTED_CHARS_MAX);
    }
}
