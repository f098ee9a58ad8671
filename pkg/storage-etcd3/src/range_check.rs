//! Checks of a list from etcd before its pairs are used. A list with missing, foreign or repeated keys would fill a cache
//! with a state that never existed.

use etcd_client::proto::{PbKeyValue, PbRangeResponse};
use storage::Revision;

/// Maximum size of a streamed list in bytes, keys and values: eight times the largest database that etcd recommends.
/// Without a limit a stream of ever larger keys would not end.
const STREAM_BYTES_MAX: u64 = 64 << 30;

/// Reason to reject a list. Keys are shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeError {
    #[error("etcd returned the key \"{0}\", which is not in the range of the list")]
    OutsideRange(String),
    #[error("etcd returned the key \"{0}\" twice or out of order")]
    OutOfOrder(String),
    #[error("etcd returned the key \"{key}\" of revision {found} in a list at revision {at}")]
    OtherRevision { key: String, found: Revision, at: Revision },
    #[error("etcd returned a list at revision {found} for revision {requested}")]
    OldRevision { found: Revision, requested: Revision },
    #[error("etcd returned {found} keys in a list of at most {limit}")]
    TooManyKeys { found: usize, limit: usize },
    #[error("etcd returned an empty part before the end of a list")]
    EmptyChunk,
    #[error("etcd returned {received} of {count} keys of a list")]
    WrongCount { received: u64, count: i64 },
    #[error("etcd returned a list of more than {} bytes", STREAM_BYTES_MAX)]
    TooLarge,
}

/// Checks the pairs of one list, which can come in several chunks.
pub(crate) struct RangeCheck {
    start: Vec<u8>,
    /// First key after the range; `\0` for none.
    end: Vec<u8>,
    /// No pair may be newer.
    revision: Revision,
    /// Last key of the previous chunk.
    last: Option<Vec<u8>>,
    received: u64,
    bytes: u64,
}

impl RangeCheck {
    /// Creates the check of a list of the keys from `start` to the end of `prefix` at a revision.
    pub(crate) fn new(prefix: &str, start: &str, revision: Revision) -> Self {
        RangeCheck {
            start: start.as_bytes().to_vec(),
            end: prefix_end(prefix),
            revision,
            last: None,
            received: 0,
            bytes: 0,
        }
    }

    /// Checks the next pairs.
    pub(crate) fn check_pairs(&mut self, kvs: &[PbKeyValue]) -> Result<(), RangeError> {
        let mut previous = self.last.as_deref();
        for kv in kvs {
            let in_range = *kv.key >= *self.start && (*self.end == [0] || kv.key < self.end);
            if !in_range {
                return Err(RangeError::OutsideRange(shortened(&kv.key)));
            }
            if previous.is_some_and(|previous| previous >= &*kv.key) {
                return Err(RangeError::OutOfOrder(shortened(&kv.key)));
            }
            if !(1..=self.revision).contains(&kv.mod_revision) {
                let key = shortened(&kv.key);
                return Err(RangeError::OtherRevision { key, found: kv.mod_revision, at: self.revision });
            }
            let bytes = (kv.key.len() + kv.value.len()) as u64;
            self.bytes = self.bytes.saturating_add(bytes);
            previous = Some(&kv.key);
        }
        if self.bytes > STREAM_BYTES_MAX {
            return Err(RangeError::TooLarge);
        }
        self.received += kvs.len() as u64;
        if let Some(last) = kvs.last() {
            self.last = Some(last.key.clone());
        }
        Ok(())
    }

    /// Checks the next chunk of a streamed list. Only the last chunk has a header, and only it may be empty.
    pub(crate) fn check_chunk(&mut self, chunk: &PbRangeResponse) -> Result<(), RangeError> {
        self.check_pairs(&chunk.kvs)?;
        let Some(header) = &chunk.header else {
            return if chunk.kvs.is_empty() { Err(RangeError::EmptyChunk) } else { Ok(()) };
        };
        check_revision(header.revision, self.revision)?;
        if chunk.more || u64::try_from(chunk.count) != Ok(self.received) {
            return Err(RangeError::WrongCount { received: self.received, count: chunk.count });
        }
        Ok(())
    }
}

/// Request for one page of a list.
pub(crate) struct PageRequest<'r> {
    pub(crate) prefix: &'r str,
    pub(crate) start: &'r str,
    /// Requested revision; 0 for the latest.
    pub(crate) revision: Revision,
    /// Maximum number of keys; 0 for any.
    pub(crate) limit: usize,
}

impl PageRequest<'_> {
    /// Checks the response, whose header has the revision `current`.
    pub(crate) fn check(&self, page: &PbRangeResponse, current: Revision) -> Result<(), RangeError> {
        check_revision(current, self.revision)?;
        let found = page.kvs.len();
        if self.limit > 0 && found > self.limit {
            return Err(RangeError::TooManyKeys { found, limit: self.limit });
        }
        let at = if self.revision == 0 { current } else { self.revision };
        let mut check = RangeCheck::new(self.prefix, self.start, at);
        check.check_pairs(&page.kvs)?;
        if u64::try_from(page.count).is_ok_and(|count| count >= check.received) {
            Ok(())
        } else {
            Err(RangeError::WrongCount { received: check.received, count: page.count })
        }
    }
}

/// Checks that a list is not older than requested.
fn check_revision(found: Revision, requested: Revision) -> Result<(), RangeError> {
    if found < requested { Err(RangeError::OldRevision { found, requested }) } else { Ok(()) }
}

/// Returns the end of a prefix's range: the first key after all keys with `prefix`. `\0` is the end of all keys.
pub(crate) fn prefix_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// Maximum number of bytes of a key in an error.
const KEY_BYTES_MAX: usize = 200;

fn shortened(key: &[u8]) -> String {
    key.get(..KEY_BYTES_MAX).unwrap_or(key).escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::PbResponseHeader;

    use super::*;

    const PREFIX: &str = "/registry/pods/";

    fn pairs(keys: &[&str]) -> Vec<PbKeyValue> {
        let pair =
            |key: &&str| PbKeyValue { key: key.as_bytes().to_vec(), mod_revision: 5, ..Default::default() };
        keys.iter().map(pair).collect()
    }

    fn check(keys: &[&str]) -> Result<(), RangeError> {
        RangeCheck::new(PREFIX, PREFIX, 5).check_pairs(&pairs(keys))
    }

    #[test]
    fn keys_outside_the_range_are_rejected() {
        assert_eq!(check(&["/registry/pods/", "/registry/pods/a", "/registry/pods/\u{10ffff}"]), Ok(()));
        for key in ["", "/registry/pods", "/registry/pods0", "/registry/secrets/a"] {
            assert_eq!(check(&[key]), Err(RangeError::OutsideRange(key.to_owned())));
        }
        let mut rest = RangeCheck::new(PREFIX, "/registry/pods/b", 5);
        let before = "/registry/pods/a";
        assert_eq!(rest.check_pairs(&pairs(&[before])), Err(RangeError::OutsideRange(before.to_owned())));
        assert_eq!(RangeCheck::new("", "a", 5).check_pairs(&pairs(&["a", "\u{10ffff}"])), Ok(()));
    }

    #[test]
    fn keys_in_errors_are_short() {
        let long = "x".repeat(100_000);
        assert!(check(&[&long]).unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn repeated_and_unordered_keys_are_rejected() {
        let [a, b] = ["/registry/pods/a", "/registry/pods/b"];
        assert_eq!(check(&[a, b]), Ok(()));
        assert_eq!(check(&[a, a]), Err(RangeError::OutOfOrder(a.to_owned())));
        assert_eq!(check(&[b, a]), Err(RangeError::OutOfOrder(a.to_owned())));
        let mut list = RangeCheck::new(PREFIX, PREFIX, 5);
        assert_eq!(list.check_pairs(&pairs(&[a, b])), Ok(()));
        assert_eq!(list.check_pairs(&pairs(&[])), Ok(()));
        assert_eq!(list.check_pairs(&pairs(&[b])), Err(RangeError::OutOfOrder(b.to_owned())));
    }

    #[test]
    fn pairs_of_other_revisions_are_rejected() {
        let at =
            |revision| RangeCheck::new(PREFIX, PREFIX, revision).check_pairs(&pairs(&["/registry/pods/a"]));
        assert_eq!(at(5), Ok(()));
        assert!(matches!(at(4), Err(RangeError::OtherRevision { found: 5, at: 4, .. })));
        let unset = PbKeyValue { mod_revision: 0, ..pairs(&["/registry/pods/a"]).remove(0) };
        let zero = RangeCheck::new(PREFIX, PREFIX, 5).check_pairs(&[unset]);
        assert!(matches!(zero, Err(RangeError::OtherRevision { found: 0, .. })));
    }

    #[test]
    fn size_of_a_list_is_limited() {
        let mut list = RangeCheck::new(PREFIX, PREFIX, 5);
        list.bytes = STREAM_BYTES_MAX - 16;
        assert_eq!(list.check_pairs(&pairs(&["/registry/pods/a"])), Ok(()));
        assert_eq!(list.check_pairs(&pairs(&["/registry/pods/b"])), Err(RangeError::TooLarge));
    }

    #[test]
    fn chunks_must_be_complete() {
        let kvs = || pairs(&["/registry/pods/a"]);
        let last = |revision, count| PbRangeResponse {
            header: Some(PbResponseHeader { revision, ..Default::default() }),
            count,
            kvs: kvs(),
            ..Default::default()
        };
        let check = |chunk: PbRangeResponse| RangeCheck::new(PREFIX, PREFIX, 5).check_chunk(&chunk);
        assert_eq!(check(last(5, 1)), Ok(()));
        assert_eq!(check(last(9, 1)), Ok(()));
        assert_eq!(check(last(4, 1)), Err(RangeError::OldRevision { found: 4, requested: 5 }));
        assert_eq!(check(last(5, 2)), Err(RangeError::WrongCount { received: 1, count: 2 }));
        assert_eq!(check(last(5, -1)), Err(RangeError::WrongCount { received: 1, count: -1 }));
        let more = PbRangeResponse { more: true, ..last(5, 1) };
        assert_eq!(check(more), Err(RangeError::WrongCount { received: 1, count: 1 }));
        assert_eq!(check(PbRangeResponse { kvs: kvs(), ..Default::default() }), Ok(()));
        assert_eq!(check(PbRangeResponse::default()), Err(RangeError::EmptyChunk));
    }

    #[test]
    fn pages_respect_revision_limit_and_count() {
        let response = |count| PbRangeResponse {
            kvs: pairs(&["/registry/pods/a", "/registry/pods/b"]),
            count,
            ..Default::default()
        };
        let check = |revision, limit, count| {
            PageRequest { prefix: PREFIX, start: PREFIX, revision, limit }.check(&response(count), 5)
        };
        assert_eq!(check(5, 2, 2), Ok(()));
        assert_eq!(check(0, 0, 9), Ok(()));
        assert_eq!(check(6, 2, 2), Err(RangeError::OldRevision { found: 5, requested: 6 }));
        assert_eq!(check(5, 1, 2), Err(RangeError::TooManyKeys { found: 2, limit: 1 }));
        assert_eq!(check(5, 2, 1), Err(RangeError::WrongCount { received: 2, count: 1 }));
    }
}
