//! A store in one file: what it held at one revision, without its past.
//!
//! ```text
//! [u8; 8]  "MAINSTAY"
//! u32      format
//! u64      number of records
//! u64      length of the records together
//!          records, in order of revisions:
//! u64        revision
//! u32        length of what follows
//!            the change as in the log (`record`), with the milliseconds that its key has left as its deadline
//! u32      CRC-32 of all of the above
//! ```
//!
//! Numbers are little-endian. The last record is the change that made the store's revision, and only that one may
//! be a deletion. The checksum finds what happens to files by accident. Who may write one may put anything into it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use bytes::{BufMut, Bytes, BytesMut};
use crc32fast::Hasher;
use storage::mvcc::{Change, Image, Millis};
use storage::{Error, Revision};

use crate::record;

const MAGIC: &[u8; 8] = b"MAINSTAY";
const FORMAT: u32 = 2;
/// Magic, format, number and length of records.
const HEAD: usize = 8 + 4 + 8 + 8;
/// Revision and length.
const RECORD_HEAD: usize = 8 + 4;
const CHECKSUM: usize = 4;
/// How many threads read a file, each so many bytes at least.
const READERS_MAX: usize = 4;
const PART_MIN: usize = 2 << 20;

/// The pieces of a snapshot, in order. Values are shared with the store, not copied.
///
/// # Errors
/// [`Error::Internal`] for a change that the layout cannot hold.
pub fn pieces(image: &Image) -> Result<impl Iterator<Item = Bytes> + Send + use<>, Error> {
    let left: HashMap<&str, Millis> = image.left().iter().map(|(key, left)| (&**key, *left)).collect();
    // What expires this very moment still expires: zero would mean never.
    let with_deadline = |change: Change| {
        let expires_at = left.get(&*change.key).map(|left| (*left).max(1));
        Change { expires_at, ..change }
    };
    let mut changes: Vec<Change> = image.changes().map(with_deadline).collect();
    changes.sort_unstable_by_key(|change| change.revision);
    let lengths = changes.iter().map(|change| Some(record::length(change)? as u64 + RECORD_HEAD as u64));
    let too_long = || Error::Internal("a key is too long for a snapshot".to_owned());
    let bytes = lengths.sum::<Option<u64>>().ok_or_else(too_long)?;
    let mut head = BytesMut::with_capacity(HEAD);
    head.put_slice(MAGIC);
    head.put_u32_le(FORMAT);
    head.put_u64_le(changes.len() as u64);
    head.put_u64_le(bytes);
    let records = changes.into_iter().flat_map(|change| {
        let (head, value) = parts(&change);
        [head, value]
    });
    let mut rest = std::iter::once(head.freeze()).chain(records);
    let mut checksum = Some(Hasher::new());
    Ok(std::iter::from_fn(move || match rest.next() {
        Some(piece) => {
            checksum.as_mut()?.update(&piece);
            Some(piece)
        }
        None => Some(Bytes::copy_from_slice(&checksum.take()?.finalize().to_le_bytes())),
    }))
}

/// A record up to its value, and the value.
fn parts(change: &Change) -> (Bytes, Bytes) {
    let value = change.value.clone().unwrap_or_default();
    let length = record::length(change).unwrap_or(0);
    let before = length.saturating_sub(value.len());
    let mut head = BytesMut::with_capacity(RECORD_HEAD + before);
    head.put_u64_le(change.revision.unsigned_abs());
    head.put_u32_le(u32::try_from(length).unwrap_or(u32::MAX));
    record::encode_head(change, &mut head);
    (head.freeze(), value)
}

/// Writes a snapshot to `path`, whole or not at all, readable for its owner alone. It is on disk when this returns.
/// Takes as long as writing that much does.
///
/// # Errors
/// [`Error::Internal`], which names the file.
pub fn write(image: &Image, path: &Path) -> Result<(), Error> {
    let pieces = pieces(image)?;
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

/// Reads a snapshot. The values stay in the one piece that the file was read into.
///
/// # Errors
/// [`Error::Refused`] for what is none, or is damaged; it names the file.
pub fn read(path: &Path) -> Result<Image, Error> {
    let failed = |problem: String| Error::Refused(format!("{}: {problem}", path.display()));
    let bytes = whole(path).map_err(|error| failed(error.to_string()))?;
    decode(&Bytes::from(bytes)).map_err(failed)
}

/// What is in a file, in one piece. Half of the time goes into getting memory for it from the system, which threads can do
/// side by side.
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return fs::read(path);
    }
    let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
    // More than there is room for is an error here, where below it would end the process.
    Vec::<u8>::new().try_reserve_exact(length).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MAX);
    let part = (bytes.len() / threads).max(PART_MIN);
    thread::scope(|scope| {
        let mut at = 0;
        let readers = bytes.chunks_mut(part).map(|part| {
            let (file, begin) = (&file, at);
            at += part.len() as u64;
            scope.spawn(move || file.read_exact_at(part, begin))
        });
        let readers: Vec<_> = readers.collect();
        let cut = |_| Err(io::Error::other("a thread panicked"));
        readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(cut))
    })?;
    Ok(bytes)
}

/// Reads what [`pieces`] made.
///
/// # Errors
/// What is wrong with it.
pub fn decode(snapshot: &Bytes) -> Result<Image, String> {
    let cut = || "the snapshot is cut off".to_owned();
    let rest: &[u8] = snapshot;
    let (magic, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
    if magic != MAGIC {
        return Err("this is not a snapshot".to_owned());
    }
    let (format, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let format = u32::from_le_bytes(*format);
    if format != FORMAT {
        return Err(format!("the snapshot has format {format}, this program reads {FORMAT}"));
    }
    let (count, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (count, length) = (u64::from_le_bytes(*count), u64::from_le_bytes(*length));
    let (records, checksum) = rest.split_last_chunk::<CHECKSUM>().ok_or_else(cut)?;
    if records.len() as u64 != length {
        return Err(format!("the snapshot says that it has {length} bytes, and has {}", records.len()));
    }
    let checked = snapshot.get(..HEAD + records.len()).ok_or_else(cut)?;
    if crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return Err("the snapshot is damaged: its checksum differs".to_owned());
    }
    changes(snapshot, records, count)
}

fn changes(snapshot: &Bytes, mut rest: &[u8], count: u64) -> Result<Image, String> {
    let damaged = |what: &str| format!("the snapshot is damaged: {what}");
    let (mut changes, mut left) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (revision, after) = rest.split_first_chunk().ok_or_else(|| damaged("a record is cut"))?;
        let (length, after) = after.split_first_chunk().ok_or_else(|| damaged("a record is cut"))?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (bytes, after) = after.split_at_checked(length).ok_or_else(|| damaged("a record is cut"))?;
        let revision = Revision::try_from(u64::from_le_bytes(*revision)).ok();
        let (revision, record) =
            revision.zip(record::decode(bytes)).ok_or_else(|| damaged("a record is unreadable"))?;
        let key: Arc<str> = record.key.into();
        if record.expires_at != 0 {
            left.push((Arc::clone(&key), record.expires_at));
        }
        let value = (!record.deletion).then(|| snapshot.slice_ref(record.value));
        let previous = record.previous();
        changes.push(Change { revision, key, value, previous, expires_at: None });
        rest = after;
    }
    if changes.len() as u64 != count {
        return Err(damaged(&format!("it says that it has {count} records, and has {}", changes.len())));
    }
    Image::restored(changes, left).map_err(|problem| damaged(&problem))
}

#[cfg(test)]
mod tests;
