//! Snapshot files: the contents of a store at one revision, without history.
//!
//! ```text
//! [u8; 8]  "MAINSTAY"
//! u32      format
//!          parts, one after another; of each
//!            records in byte order of their keys
//!          index
//!            the change that made the revision, as a record, if anything was ever written; then of each part
//! u64          its length
//! u64          number of records
//! u64          how many milliseconds the key has left that expires first, 0 if none does
//! u32          CRC-32 of it
//! u32          length of its first key
//!              that key
//! u64      revision of the store
//! u64      number of parts
//! u64      length of the index
//! u32      CRC-32 of all of this but the parts
//!
//! record:
//! u64      revision
//! u32      length of what follows
//!          the change as in the log (`record`), with the milliseconds that its key has left as its deadline
//! ```
//!
//! Numbers are little-endian. A part ends with the record that makes it [`PART_BYTES`] long. Opening a
//! snapshot reads its start and its end; a part is read, and its checksum verified, on the first access to
//! one of its keys. Checksums detect accidental damage only; the author of a snapshot controls its content.

mod archive;

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bytes::{BufMut, Bytes, BytesMut};
use crc32fast::Hasher;
use storage::mvcc::{Change, Image, Millis, REVISION_EMPTY};
use storage::{Error, Revision};

pub use archive::{Snapshot, SnapshotError};

use crate::record;

const MAGIC: &[u8; 8] = b"MAINSTAY";
const FORMAT: u32 = 3;
/// Length of magic and format.
const HEAD: usize = 8 + 4;
/// Length of revision, number of parts, length of the index, checksum.
const END: usize = 8 + 8 + 8 + CHECKSUM;
/// Length of revision and length.
const RECORD_HEAD: usize = 8 + 4;
const CHECKSUM: usize = 4;
/// Minimum size of a part in bytes, except for the last one. Reading this much from memory takes some
/// microseconds, and its index entry has some hundred bytes.
const PART_BYTES: usize = 64 << 10;

/// Encodes a snapshot in pieces, in order. Values are shared with the store, not copied.
///
/// # Errors
/// [`Error::Internal`] for a change that the layout cannot represent.
pub fn encode(image: &Image) -> Result<impl Iterator<Item = Bytes> + Send + use<>, Error> {
    let ttls: HashMap<&str, Millis> = image.ttls().iter().map(|(key, ttl)| (&**key, *ttl)).collect();
    // A key that expires right now must still expire: zero would mean never.
    let with_deadline = |change: Change| {
        let expires_at = ttls.get(&*change.key).map(|ttl| (*ttl).max(1));
        Change { expires_at, ..change }
    };
    let changes = image.changes().filter(|change| change.value.is_some());
    let changes: Vec<Change> = changes.map(with_deadline).collect();
    let fits = |change: &Change| u32::try_from(record::length(change)?).ok();
    if changes.iter().chain(image.last()).any(|change| fits(change).is_none()) {
        return Err(Error::Internal("a key or a value is too long for a snapshot".to_owned()));
    }
    if image.last().is_none() && image.revision() > REVISION_EMPTY {
        return Err(Error::Internal("nobody knows any more what the last change was".to_owned()));
    }
    let mut head = BytesMut::with_capacity(HEAD);
    head.put_slice(MAGIC);
    head.put_u32_le(FORMAT);
    let mut index = BytesMut::new();
    image.last().iter().for_each(|last| parts_of(last).iter().for_each(|part| index.put_slice(part)));
    let ready = VecDeque::from([head.freeze()]);
    let changes = changes.into_iter();
    let revision = image.revision();
    Ok(Encoder { changes, ready, index, parts: 0, revision, ended: false })
}

/// The rest of a running encoding.
struct Encoder {
    changes: std::vec::IntoIter<Change>,
    /// Pieces of a complete part.
    ready: VecDeque<Bytes>,
    index: BytesMut,
    parts: u64,
    revision: Revision,
    ended: bool,
}

impl Iterator for Encoder {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.ready.is_empty() && !self.ended {
            self.encode_part();
        }
        self.ready.pop_front()
    }
}

impl Encoder {
    /// Encodes the next part, or the end after the last one.
    fn encode_part(&mut self) {
        let Some(first) = self.changes.next() else { return self.encode_end() };
        let key = first.key.clone();
        let mut bytes = 0;
        let mut records = 0_u64;
        let mut soonest = None;
        let mut checksum = Hasher::new();
        let mut next = Some(first);
        while let Some(change) = next {
            for piece in parts_of(&change) {
                checksum.update(&piece);
                bytes += piece.len();
                self.ready.push_back(piece);
            }
            records += 1;
            soonest = [soonest, change.expires_at].into_iter().flatten().min();
            next = if bytes < PART_BYTES { self.changes.next() } else { None };
        }
        self.parts += 1;
        self.index.put_u64_le(bytes as u64);
        self.index.put_u64_le(records);
        self.index.put_u64_le(soonest.unwrap_or(0));
        self.index.put_u32_le(checksum.finalize());
        self.index.put_u32_le(key.len() as u32);
        self.index.put_slice(key.as_bytes());
    }

    fn encode_end(&mut self) {
        self.ended = true;
        let length = self.index.len() as u64;
        self.index.put_u64_le(self.revision.unsigned_abs());
        self.index.put_u64_le(self.parts);
        self.index.put_u64_le(length);
        self.index.put_u32_le(checksum_of(&self.index));
        self.ready.push_back(std::mem::take(&mut self.index).freeze());
    }
}

/// The checksum of the index and of the following fields.
fn checksum_of(index: &[u8]) -> u32 {
    let mut checksum = Hasher::new();
    checksum.update(MAGIC);
    checksum.update(&FORMAT.to_le_bytes());
    checksum.update(index);
    checksum.finalize()
}

/// A record up to its value, and the value.
fn parts_of(change: &Change) -> [Bytes; 2] {
    let value = change.value.clone().unwrap_or_default();
    let length = record::length(change).unwrap_or(0);
    let mut head = BytesMut::with_capacity(RECORD_HEAD + length.saturating_sub(value.len()));
    head.put_u64_le(change.revision.unsigned_abs());
    head.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX));
    record::encode_head(change, &mut head);
    [head.freeze(), value]
}

/// Writes a snapshot to `path` atomically, accessible only by the owner. It is on disk when this returns.
/// Takes as long as writing the file.
///
/// # Errors
/// [`Error::Internal`] with the path.
pub fn write(image: &Image, path: &Path) -> Result<(), Error> {
    let pieces = encode(image)?;
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let fill = || -> io::Result<()> {
        let _ = fs::remove_file(&temporary);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        pieces.into_iter().try_for_each(|piece| out.write_all(&piece))?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&temporary, path)?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    };
    fill().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::Internal(format!("{}: {error}", path.display()))
    })
}

#[cfg(test)]
mod tests;
