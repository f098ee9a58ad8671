//! A log file with rotation like upstream's library (lumberjack): backups get a timestamp in their names, can
//! be compressed, and are deleted by age or number.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use apimachinery::time::{UnixTime, parse_time};
use component_base::clock::Clock;
use flate2::Compression;
use flate2::write::GzEncoder;

const COMPRESSED: &str = ".gz";
const SECONDS_OF_DAY: i64 = 24 * 60 * 60;
/// File mode of log files: read and write for the owner.
const MODE: u32 = 0o600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOptions {
    pub path: PathBuf,
    /// Maximum size in bytes before rotation; `None` for no limit.
    pub bytes_max: Option<u64>,
    /// Maximum number of backups; 0 for no limit.
    pub backups_max: usize,
    /// Maximum age of backups in days; 0 for no limit.
    pub days_max: u32,
    pub compress: bool,
}

/// An append-only file. A single write is never split by rotation.
pub struct File {
    options: Arc<FileOptions>,
    clock: Arc<dyn Clock>,
    open: Option<OpenFile>,
    /// Wakes the cleanup thread. The channel holds one pending wake-up because more would have no effect.
    cleanup: SyncSender<()>,
}

struct OpenFile {
    file: fs::File,
    bytes: u64,
}

impl File {
    /// Creates the file and its directory if they are missing, and starts the cleanup thread.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn create(options: FileOptions, clock: Arc<dyn Clock>) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory(&options.path))?;
        OpenOptions::new().create(true).append(true).mode(MODE).open(&options.path)?;
        let (cleanup, words) = sync_channel(1);
        let options = Arc::new(options);
        let of_thread = Arc::clone(&options);
        let time = Arc::clone(&clock);
        std::thread::Builder::new()
            .name("audit-log-files".to_owned())
            .spawn(move || run_cleanup(&of_thread, &*time, &words))?;
        Ok(File { options, clock, open: None, cleanup })
    }

    fn open(&mut self, more: u64) -> io::Result<OpenFile> {
        let _ = self.cleanup.try_send(());
        let path = &self.options.path;
        let bytes = match fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.rotate_file(),
            Err(error) => return Err(error),
        };
        if self.options.bytes_max.is_some_and(|max| bytes.saturating_add(more) >= max) {
            return self.rotate();
        }
        match OpenOptions::new().append(true).open(path) {
            Ok(file) => Ok(OpenFile { file, bytes }),
            Err(_) => self.rotate_file(),
        }
    }

    fn rotate(&mut self) -> io::Result<OpenFile> {
        self.open = None;
        let open = self.rotate_file()?;
        let _ = self.cleanup.try_send(());
        Ok(open)
    }

    /// Renames the current file to a backup, if there is one, and creates a new file like it.
    fn rotate_file(&self) -> io::Result<OpenFile> {
        let path = &self.options.path;
        fs::create_dir_all(directory(path))?;
        let old = fs::metadata(path).ok();
        let mode = old.as_ref().map_or(MODE, |old| old.permissions().mode() & 0o7777);
        if old.is_some() {
            fs::rename(path, backup_path(path, self.clock.now()))?;
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(path)?;
        if let Some(old) = old {
            chown(path, Some(old.uid()), Some(old.gid()))?;
        }
        Ok(OpenFile { file, bytes: 0 })
    }
}

impl Write for File {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let more = u64::try_from(record.len()).unwrap_or(u64::MAX);
        if let Some(max) = self.options.bytes_max.filter(|max| more > *max) {
            let text = format!("write length {more} exceeds maximum file size {max}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open(more)?,
        };
        if self.options.bytes_max.is_some_and(|max| open.bytes.saturating_add(more) > max) {
            open = self.rotate()?;
        }
        let written = open.file.write_all(record);
        open.bytes = open.bytes.saturating_add(more);
        self.open = Some(open);
        written.map(|()| record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file name before and after the timestamp's position.
fn parts(path: &Path) -> (String, String) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.rfind('.') {
        Some(at) => (
            format!("{}-", name.get(..at).unwrap_or_default()),
            name.get(at..).unwrap_or_default().to_owned(),
        ),
        None => (format!("{name}-"), String::new()),
    }
}

fn backup_path(path: &Path, now: UnixTime) -> PathBuf {
    let (prefix, extension) = parts(path);
    let time = now.rfc3339().to_string();
    let time = time.trim_end_matches('Z').replace(':', "-");
    directory(path).join(format!("{prefix}{time}.{:03}{extension}", now.nanos / 1_000_000))
}

/// Parses the timestamp in a backup's name; `None` for other files.
fn time_in(name: &str, prefix: &str, extension: &str) -> Option<UnixTime> {
    let name = name.strip_prefix(prefix)?;
    let time =
        name.strip_suffix(extension).or_else(|| name.strip_suffix(COMPRESSED)?.strip_suffix(extension))?;
    let (day, time) = time.split_once('T')?;
    parse_time(&format!("{day}T{}Z", time.replace('-', ":"))).ok()
}

fn run_cleanup(options: &FileOptions, clock: &dyn Clock, words: &Receiver<()>) {
    while words.recv().is_ok() {
        if let Err(error) = clean_up(options, clock.now()) {
            tracing::warn!(%error, path = %options.path.display(), "cannot clean up old audit logs");
        }
    }
}

/// Deletes backups by age and number and compresses the others. Continues after a failure.
///
/// # Errors
/// The first failure.
fn clean_up(options: &FileOptions, now: UnixTime) -> io::Result<()> {
    if options.backups_max == 0 && options.days_max == 0 && !options.compress {
        return Ok(());
    }
    let directory = directory(&options.path);
    let (prefix, extension) = parts(&options.path);
    let mut old: Vec<(UnixTime, String)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        old.extend(time_in(&name, &prefix, &extension).map(|time| (time, name)));
    }
    old.sort_by(|one, other| other.cmp(one));
    let oldest = now.seconds.saturating_sub(SECONDS_OF_DAY.saturating_mul(i64::from(options.days_max)));
    let mut retained = 0_usize;
    let mut last = String::new();
    let mut outcome = Ok(());
    for (time, name) in old {
        let plain = name.strip_suffix(COMPRESSED).unwrap_or(&name);
        if plain != last {
            retained = retained.saturating_add(1);
            plain.clone_into(&mut last);
        }
        let path = directory.join(&name);
        let too_many = options.backups_max > 0 && retained > options.backups_max;
        let too_old = options.days_max > 0 && time < UnixTime { seconds: oldest, ..now };
        let done = match too_many || too_old {
            true => fs::remove_file(&path),
            false if options.compress && !name.ends_with(COMPRESSED) => compress(&path),
            false => Ok(()),
        };
        outcome = outcome.and(done);
    }
    outcome
}

/// Compresses and removes a file. Overwrites the result of an earlier attempt.
fn compress(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(COMPRESSED);
    let target = PathBuf::from(name);
    let write = || {
        let mut from = fs::File::open(path)?;
        let metadata = from.metadata()?;
        let mode = metadata.permissions().mode() & 0o7777;
        let to = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&target)?;
        to.set_permissions(Permissions::from_mode(mode))?;
        chown(&target, Some(metadata.uid()), Some(metadata.gid()))?;
        let mut to = GzEncoder::new(to, Compression::default());
        io::copy(&mut from, &mut to)?;
        to.finish()?;
        fs::remove_file(path)
    };
    write().inspect_err(|_| _ = fs::remove_file(&target))
}

#[cfg(test)]
mod tests;
