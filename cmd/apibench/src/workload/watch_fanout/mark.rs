//! Mark in an update that identifies it and contains its send time.

use std::fmt;
use std::time::Duration;

use memchr::memmem;

/// Prefix of a mark in an event. Managed fields contain `f:mark`, without a quote before the name.
const KEY: &[u8] = b"\"mark\":\"";

/// The mark of one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Index of the updated object.
    pub(super) object: usize,
    /// Sequence number of the object's update, from 1.
    pub(super) number: u64,
    /// Send time since the start of the measurement.
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
    /// Returns the mark in `event`; `None` if it is not an event of an update.
    pub(super) fn find(&self, event: &[u8]) -> Option<Mark> {
        let value = event.get(self.0.find(event)? + KEY.len()..)?;
        let value = std::str::from_utf8(value.get(..memchr::memchr(b'"', value)?)?).ok()?;
        let mut fields = value.splitn(3, '-');
        Some(Mark {
            object: fields.next()?.parse().ok()?,
            number: fields.next()?.parse().ok()?,
            sent: Duration::from_nanos(fields.next()?.parse().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_mark_is_found() {
        let mark = Mark { object: 3, number: 42, sent: Duration::from_nanos(123_456_789) };
        let event = format!(
            r#"{{"type":"MODIFIED","object":{{"f":{{"f:mark":{{}}}},"data":{{"mark":"{mark}","filler":"x"}}}}}}"#
        );
        assert_eq!(Finder::default().find(event.as_bytes()), Some(mark));
        assert_eq!(Finder::default().find(b"{\"type\":\"BOOKMARK\"}"), None);
        assert_eq!(Finder::default().find(b"\"mark\":\"1-2\""), None);
    }
}
