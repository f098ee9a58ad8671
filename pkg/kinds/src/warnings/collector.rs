//! Collects warnings, up to the limit that a response can contain.

use std::fmt;

use component_base::features::{Gate, Gates};

/// Total length limit of the warnings in a response, in characters; further ones are dropped (upstream's
/// `truncateAtTotalRunes`).
const TOTAL_CHARS_MAX: usize = 4 * 1024;
/// Length limit of each warning if there are too many, in characters. A response then truncates every warning
/// to this length (`truncateItemRunes`).
const COUNTED_CHARS_MAX: usize = 256;

/// Distinct warnings about an object, in order.
///
/// Warnings that a response could not contain are not stored. An object can cause millions of them, such as a
/// pod that declares the same port some thousand times.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    gates: Gates,
    texts: Vec<String>,
    chars: usize,
}

impl Warnings {
    /// Creates an empty collection for these feature gates.
    pub(crate) fn new(gates: &Gates) -> Self {
        Warnings { gates: *gates, texts: Vec::new(), chars: 0 }
    }

    pub(crate) fn enabled(&self, gate: Gate) -> bool {
        self.gates.enabled(gate)
    }

    /// Adds a warning, unless it is a duplicate or the limit is reached.
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

    /// True if the limit is reached; further warnings are dropped.
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
    fn excess_warnings_are_dropped() {
        let mut out = Warnings::default();
        for number in 0..10_000 {
            out.add(format_args!("{number:->1000}"));
        }
        assert!(out.is_full());
        assert_eq!(out.into_texts().len(), TOTAL_CHARS_MAX / COUNTED_CHARS_MAX);
    }
}
