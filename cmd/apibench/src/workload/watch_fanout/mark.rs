//! What an update carries so that a watcher knows which one it is and when it was sent.

use std::fmt;
use std::time::Duration;

use memchr::memmem;

/// In front of a mark in an event. Managed fields spell the name `f:mark`, with no quote before it.
const KEY: &[u8] = b"\"mark\":\"";

/// The mark of one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Which of the objects is updated.
    pub(super) object: usize,
    /// 1 for the object's first update, then one more for each.
    pub(super) number: u64,
    /// When it was sent, since the beginning of the measurement.
    pub(super) sent: Duration,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.object, self.number, self.sent.as_nanos())
    }
}

/// Finds marks in events.
#[derive(Debug)]
pub(super) struct Finder(memmem::Finder<'static>);

impl Default for Finder {
    fn default() -> Self {
        Self(memmem::Finder::new(KEY))
    }
}

impl Finder {
    /// The mark in `event`; an event without one is none of an update.
    pub(super) fn find(&self, event: &[u8]) -> Option<Mark> {
        let value = event.get(self.0.find(event)? + KEY.len()..)?;
        let value = std::str::from_utf8(value.get(..memchr::memchr(b'"', value)?)?).ok()?;
        let mut parts = value.splitn(3, '-');
        Some(Mark {
            object: parts.next()?.parse().ok()?,
            number: parts.next()?.parse().ok()?,
            sent: Duration::from_nanos(parts.next()?.parse().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_as_it_was_written() {
        let mark = Mark { object: 3, number: 42, sent: Duration::from_nanos(123_456_789) };
        let event = format!(
            r#"{{"type":"MODIFIED","object":{{"f":{{"f:mark":{{}}}},"data":{{"mark":"{mark}","filler":"x"}}}}}}"#
        );
        assert_eq!(Finder::default().find(event.as_bytes()), Some(mark));
        assert_eq!(Finder::default().find(b"{\"type\":\"BOOKMARK\"}"), None);
        assert_eq!(Finder::default().find(b"\"mark\":\"1-2\""), None);
    }
}
