//! Reading of snapshots: start and end when opened, parts on demand.

use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{fmt, io};

use bytes::{Buf, Bytes};
use storage::mvcc::{Archive, ArchiveError, ArchivedKey, Change, PartInfo, REVISION_EMPTY};
use storage::{Error, Revision};

use super::{CHECKSUM, END, FORMAT, HEAD, MAGIC, checksum_of};
use crate::record::{self, Record};

/// Number of bytes read from the end of a file at once: sufficient for the index of some tens of megabytes.
const TAIL: usize = 64 << 10;

/// Valid revisions: later writes can never overflow them.
const REVISIONS: RangeInclusive<Revision> = REVISION_EMPTY..=Revision::MAX / 2;

/// An open snapshot. It keeps its file open, so that the path can be replaced.
pub struct Snapshot {
    /// The name in messages.
    name: String,
    bytes: Source,
    revision: Revision,
    last: Option<Change>,
    parts: Vec<PartInfo>,
    locations: Vec<PartLocation>,
}

/// Position and metadata of a part.
struct PartLocation {
    offset: u64,
    length: usize,
    checksum: u32,
}

/// The source of a snapshot's bytes.
enum Source {
    File(File, u64),
    Memory(Bytes),
}

impl Source {
    fn length(&self) -> u64 {
        match self {
            Source::File(_, length) => *length,
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads bytes at an offset; they must exist.
    fn read(&self, at: u64, length: usize) -> io::Result<Bytes> {
        match self {
            Source::File(file, _) => {
                let mut bytes = Vec::new();
                // A failed allocation is an error here; below it would abort the process.
                bytes.try_reserve_exact(length).map_err(io::Error::other)?;
                bytes.resize(length, 0);
                file.read_exact_at(&mut bytes, at)?;
                Ok(Bytes::from(bytes))
            }
            Source::Memory(bytes) => {
                let at = usize::try_from(at).map_err(io::Error::other)?;
                let end = at.checked_add(length).filter(|end| *end <= bytes.len());
                end.map(|end| bytes.slice(at..end)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        }
    }
}

/// Reason why a snapshot is unreadable.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The system cannot read the file.
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("this is not a snapshot")]
    Foreign,
    #[error("the snapshot has format {0}, this program reads {FORMAT}")]
    Format(u32),
    #[error("the snapshot is cut off")]
    Truncated,
    #[error("the snapshot is cut off or damaged: the checksum of its index differs")]
    IndexChecksum,
    /// Its parts or its index contradict each other.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    #[error("{name}: {source}")]
    File {
        /// Path of the snapshot.
        name: String,
        /// Reason why it is unreadable.
        source: Box<SnapshotError>,
    },
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Snapshot {
    /// Opens a file. Other byte sources, such as a pipe, are read to their end.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a file that is not a snapshot, is truncated or has a damaged index; with the
    /// path.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let source = || -> io::Result<Source> {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_file() {
                return Ok(Source::File(file, metadata.len()));
            }
            fs::read(path).map(|bytes| Source::Memory(bytes.into()))
        };
        let opened = source().map_err(SnapshotError::from).and_then(|bytes| Snapshot::of(&name, bytes));
        opened.map_err(|problem| Error::Rejected(format!("{name}: {problem}")))
    }

    /// Opens a snapshot in memory.
    ///
    /// # Errors
    /// The snapshot is incomplete or damaged.
    pub fn decode(bytes: &Bytes) -> Result<Self, SnapshotError> {
        Snapshot::of("a snapshot", Source::Memory(bytes.clone()))
    }

    fn of(name: &str, bytes: Source) -> Result<Self, SnapshotError> {
        let length = bytes.length();
        let within = |wanted: usize| wanted.min(usize::try_from(length).unwrap_or(usize::MAX));
        let mut head = bytes.read(0, within(HEAD))?;
        if !MAGIC.starts_with(head.get(..MAGIC.len().min(head.len())).unwrap_or_default()) {
            return Err(SnapshotError::Foreign);
        }
        head.advance(MAGIC.len().min(head.len()));
        match head.try_get_u32_le().map_err(|_| SnapshotError::Truncated)? {
            FORMAT => {}
            format => return Err(SnapshotError::Format(format)),
        }
        if length < (HEAD + END) as u64 {
            return Err(SnapshotError::Truncated);
        }
        let tail = within(TAIL);
        let mut tail = bytes.read(length - tail as u64, tail)?;
        let mut end = tail.slice(tail.len().saturating_sub(END)..);
        let revision = end.get_u64_le();
        let parts = end.get_u64_le();
        let index = end.get_u64_le();
        let checksum = end.get_u32_le();
        let with_index =
            index.checked_add(END as u64).filter(|with_index| *with_index <= length - HEAD as u64);
        let with_index = with_index
            .and_then(|with_index| usize::try_from(with_index).ok())
            .ok_or(SnapshotError::Truncated)?;
        if with_index > tail.len() {
            tail = bytes.read(length - with_index as u64, with_index)?;
        }
        let index = tail.slice(tail.len() - with_index..);
        if checksum_of(index.get(..with_index - CHECKSUM).unwrap_or_default()) != checksum {
            return Err(SnapshotError::IndexChecksum);
        }
        let revision = Revision::try_from(revision).ok().filter(|revision| REVISIONS.contains(revision));
        let revision = revision.ok_or(SnapshotError::Damaged("no store has its revision"))?;
        let name = name.to_owned();
        let empty = Snapshot { name, bytes, revision, last: None, parts: Vec::new(), locations: Vec::new() };
        empty.with_index(&index.slice(..with_index - END), parts, length - with_index as u64)
    }

    /// Reads the index; the parts must end at `end`.
    fn with_index(mut self, index: &Bytes, parts: u64, end: u64) -> Result<Self, SnapshotError> {
        let mut rest: &[u8] = index;
        if self.revision > REVISION_EMPTY {
            let last = record_of(&mut rest).filter(|(revision, _)| *revision == self.revision);
            let (revision, last) = last.ok_or(SnapshotError::Damaged("its last change is missing"))?;
            let value = (!last.deletion).then(|| Bytes::copy_from_slice(last.value));
            let key = last.key.into();
            let previous = last.previous();
            self.last = Some(Change { revision, key, value, previous, expires_at: None });
        }
        let mut offset = HEAD as u64;
        for _ in 0..parts {
            let (part, location) =
                part_of(&mut rest, offset).ok_or(SnapshotError::Damaged("its index is cut"))?;
            offset = offset.saturating_add(location.length as u64);
            if self.parts.last().is_some_and(|previous| *previous.first >= *part.first) {
                return Err(SnapshotError::Damaged("its parts are out of order"));
            }
            self.parts.push(part);
            self.locations.push(location);
        }
        if offset != end || !rest.is_empty() {
            return Err(SnapshotError::Damaged("its index is not that of its parts"));
        }
        Ok(self)
    }

    fn read_part(&self, number: usize) -> Result<Vec<ArchivedKey>, SnapshotError> {
        let entry = self.parts.get(number).zip(self.locations.get(number));
        let (part, location) = entry.ok_or(SnapshotError::Damaged("a part is missing"))?;
        let bytes = self.bytes.read(location.offset, location.length)?;
        if crc32fast::hash(&bytes) != location.checksum {
            return Err(SnapshotError::Damaged("the checksum of a part differs"));
        }
        let mut rest: &[u8] = &bytes;
        let mut keys: Vec<ArchivedKey> = Vec::new();
        while !rest.is_empty() {
            let record = record_of(&mut rest).filter(|(revision, record)| {
                let is_ordered =
                    keys.last().map_or(*record.key == *part.first, |previous| *previous.key < *record.key);
                is_ordered && !record.deletion && (REVISION_EMPTY + 1..=self.revision).contains(revision)
            });
            let (mod_revision, record) = record.ok_or(SnapshotError::Damaged("a record is unreadable"))?;
            let ttl = (record.expires_at != 0).then_some(record.expires_at);
            keys.push(ArchivedKey {
                key: record.key.into(),
                mod_revision,
                value: bytes.slice_ref(record.value),
                ttl,
            });
        }
        let next = self.parts.get(number + 1);
        let is_below_next = next.zip(keys.last()).is_none_or(|(next, last)| *last.key < *next.first);
        let first_expiry = keys.iter().filter_map(|key| key.ttl).min();
        if keys.len() as u64 != part.keys || first_expiry != part.first_expiry || !is_below_next {
            return Err(SnapshotError::Damaged("a part is not what the index says"));
        }
        Ok(keys)
    }
}

/// Splits off a record with its revision.
fn record_of<'a>(bytes: &mut &'a [u8]) -> Option<(Revision, Record<'a>)> {
    let (revision, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (record, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    let revision = Revision::try_from(u64::from_le_bytes(*revision)).ok()?;
    Some((revision, record::decode(record)?))
}

/// Splits off the index entry of the part at `at`.
fn part_of(index: &mut &[u8], offset: u64) -> Option<(PartInfo, PartLocation)> {
    let length = usize::try_from(index.try_get_u64_le().ok()?).ok()?;
    let keys = index.try_get_u64_le().ok()?;
    let first_expiry = index.try_get_u64_le().ok()?;
    let checksum = index.try_get_u32_le().ok()?;
    let key = index.try_get_u32_le().ok()?;
    let (first, rest) = index.split_at_checked(usize::try_from(key).ok()?)?;
    *index = rest;
    // A record has more than one byte, and no file is large enough for an overflow of their sums.
    let first = str::from_utf8(first).ok().filter(|_| keys > 0 && keys <= length as u64)?;
    let first_expiry = (first_expiry != 0).then_some(first_expiry);
    Some((PartInfo { first: first.into(), keys, first_expiry }, PartLocation { offset, length, checksum }))
}

impl Archive for Snapshot {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn last(&self) -> Option<&Change> {
        self.last.as_ref()
    }

    fn parts(&self) -> &[PartInfo] {
        &self.parts
    }

    fn read(&self, part: usize) -> Result<Vec<ArchivedKey>, ArchiveError> {
        let read = self.read_part(part).map_err(|source| {
            let name = self.name.clone();
            ArchiveError::Part(SnapshotError::File { name, source: Box::new(source) }.into())
        });
        read.inspect_err(|error| {
            tracing::error!(error = error.to_string(), "cannot read objects from the snapshot")
        })
    }
}
