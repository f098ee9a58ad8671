//! Bounded text from other programs.

use std::fmt::{self, Display, Write};

use serde::{Deserialize, Deserializer, de};

use crate::go_quote::Quoted;

/// Maximum length of a text from another program, in bytes (client-go's `maxUnstructuredResponseTextBytes`).
pub const FOREIGN_TEXT_BYTES_MAX: usize = 2048;

/// Text from another program, cut to [`FOREIGN_TEXT_BYTES_MAX`] bytes at a character boundary.
///
/// Webhooks, aggregated servers, kubelets, KMS plugins, token issuers, etcd, credential plugins and egress
/// proxies send texts of any size. Every such text passes through this type before it enters a message, a
/// condition, a log line, a metric label or an audit event. The limit holds for the text as shown, after
/// escapes and replacement characters.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignText(Box<str>);

impl ForeignText {
    /// Cuts a text.
    pub fn new(text: &str) -> Self {
        ForeignText(cut(text, FOREIGN_TEXT_BYTES_MAX).into())
    }

    /// Cuts bytes. Each invalid sequence becomes a replacement character. Bytes after the limit are not read.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let head = bytes.get(..FOREIGN_TEXT_BYTES_MAX).unwrap_or(bytes);
        ForeignText::new(&String::from_utf8_lossy(head))
    }

    /// Formats a value, and stops at the limit. Errors of decoders quote their input, so they are foreign text.
    pub fn displayed(value: impl Display) -> Self {
        let mut out = Bounded::new();
        // The only error is the limit.
        let _ = write!(out, "{value}");
        ForeignText(out.0.into())
    }

    /// Quotes the text like Go's `%q`. At most [`FOREIGN_TEXT_BYTES_MAX`] bytes stand between the quotes, although
    /// escapes lengthen the text.
    pub fn quoted(&self) -> String {
        let mut out = Bounded::new();
        let mut escaped = String::new();
        for c in self.0.chars() {
            escaped.clear();
            let quoted = write!(escaped, "{}", Quoted(c.encode_utf8(&mut [0; 4])));
            let inner = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default();
            if quoted.is_err() || out.push_whole(inner).is_err() {
                break;
            }
        }
        format!("\"{}\"", out.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the start of a text, at most `bytes_max` bytes of whole characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}

impl Display for ForeignText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows the text in quotes, within the limit.
impl fmt::Debug for ForeignText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

impl From<&str> for ForeignText {
    fn from(text: &str) -> Self {
        ForeignText::new(text)
    }
}

impl From<String> for ForeignText {
    fn from(text: String) -> Self {
        ForeignText::new(&text)
    }
}

impl From<ForeignText> for String {
    fn from(text: ForeignText) -> Self {
        text.0.into()
    }
}

impl PartialEq<str> for ForeignText {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

/// Decodes a member of a response. A longer text is cut, not rejected. `null` is the empty text.
impl<'de> Deserialize<'de> for ForeignText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ForeignText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ForeignText, E> {
                Ok(ForeignText::new(text))
            }

            fn visit_unit<E: de::Error>(self) -> Result<ForeignText, E> {
                Ok(ForeignText::default())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Remaining bytes for several texts of one source, such as the members of a response.
#[derive(Debug, Clone)]
pub struct ForeignTextBudget {
    bytes_left: usize,
}

impl Default for ForeignTextBudget {
    /// A budget of [`FOREIGN_TEXT_BYTES_MAX`] bytes.
    fn default() -> Self {
        ForeignTextBudget { bytes_left: FOREIGN_TEXT_BYTES_MAX }
    }
}

impl ForeignTextBudget {
    /// True if no byte is left. Callers stop to read further members.
    pub fn is_spent(&self) -> bool {
        self.bytes_left == 0
    }

    /// Cuts a text to the bytes that are left.
    pub fn take(&mut self, text: &str) -> ForeignText {
        let head = cut(text, self.bytes_left);
        // A cut text spends the rest, so that no later text follows a gap.
        let spent = if head.len() < text.len() { self.bytes_left } else { head.len() };
        self.bytes_left = self.bytes_left.saturating_sub(spent);
        ForeignText(head.into())
    }
}

/// Writer of at most [`FOREIGN_TEXT_BYTES_MAX`] bytes.
struct Bounded(String);

impl Bounded {
    fn new() -> Self {
        Bounded(String::new())
    }

    fn bytes_left(&self) -> usize {
        FOREIGN_TEXT_BYTES_MAX.saturating_sub(self.0.len())
    }

    /// Appends a text that must not be cut.
    fn push_whole(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.bytes_left() {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

impl Write for Bounded {
    /// Appends as much as fits. An error stops the formatter.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let head = cut(text, self.bytes_left());
        self.0.push_str(head);
        if head.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A text of one mebibyte.
    fn page(piece: &str) -> String {
        piece.repeat((1 << 20) / piece.len())
    }

    #[test]
    fn every_constructor_keeps_the_limit() {
        for piece in ["x", "\0", "ä", "日", "\u{10ffff}", "\""] {
            let page = page(piece);
            let texts = [
                ForeignText::new(&page),
                ForeignText::from_bytes(page.as_bytes()),
                ForeignText::displayed(&page),
                page.as_str().into(),
                serde_json::from_value(page.as_str().into()).unwrap(),
                ForeignTextBudget::default().take(&page),
            ];
            for text in texts {
                assert!(page.starts_with(text.as_str()), "{piece:?}");
                assert!((FOREIGN_TEXT_BYTES_MAX - 3..=FOREIGN_TEXT_BYTES_MAX).contains(&text.as_str().len()));
                assert!(text.quoted().len() <= FOREIGN_TEXT_BYTES_MAX + 2, "{piece:?}");
                assert!(format!("{text:?}").len() <= FOREIGN_TEXT_BYTES_MAX + 2, "{piece:?}");
            }
        }
    }

    #[test]
    fn replacement_characters_count_within_the_limit() {
        let text = ForeignText::from_bytes(&[0xff; 4096]);
        assert_eq!(text.as_str().len(), FOREIGN_TEXT_BYTES_MAX / 3 * 3);
    }

    #[test]
    fn short_text_is_quoted_like_go() {
        assert_eq!(ForeignText::new("a\"\n☺").quoted(), r#""a\"\n☺""#);
        assert_eq!(ForeignText::default().quoted(), r#""""#);
        let full = "x".repeat(FOREIGN_TEXT_BYTES_MAX);
        assert_eq!(ForeignText::new(&full).quoted(), format!("\"{full}\""));
    }

    #[test]
    fn formatting_stops_at_the_limit() {
        struct Endless;
        impl Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("endless ")?;
                }
            }
        }
        assert_eq!(ForeignText::displayed(Endless).as_str().len(), FOREIGN_TEXT_BYTES_MAX);
    }

    #[test]
    fn budget_ends_with_first_cut_text() {
        let mut budget = ForeignTextBudget::default();
        assert_eq!(budget.take("abc").as_str(), "abc");
        assert_eq!(budget.take(&"ä".repeat(2000)).as_str().len(), FOREIGN_TEXT_BYTES_MAX - 4);
        assert!(budget.is_spent());
        assert!(budget.take("d").is_empty());
    }
}
