//! Rotation and cleanup of log files.
#![allow(clippy::unwrap_used)]

use std::io::Read;

use component_base::clock::TestClock;
use flate2::read::GzDecoder;

use super::*;

const NOW: UnixTime = UnixTime { seconds: 1_700_000_000, nanos: 7_000_000 };

struct World {
    dir: tempfile::TempDir,
    clock: Arc<TestClock>,
}

impl World {
    fn new() -> Self {
        World { dir: tempfile::tempdir().unwrap(), clock: Arc::new(TestClock::at(NOW)) }
    }

    fn options(&self) -> FileOptions {
        let path = self.dir.path().join("logs/audit.log");
        FileOptions { path, bytes_max: Some(10), backups_max: 0, days_max: 0, compress: false }
    }

    fn file(&self, options: &FileOptions) -> File {
        File::create(options.clone(), Arc::clone(&self.clock) as _).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("logs")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join("logs").join(name)).unwrap()
    }

    fn put(&self, name: &str) {
        fs::write(self.dir.path().join("logs").join(name), name).unwrap();
    }
}

#[test]
fn large_files_are_rotated() {
    let world = World::new();
    let mut file = world.file(&world.options());
    for record in ["12345\n", "678\n", "90\n"] {
        assert_eq!(file.write(record.as_bytes()).unwrap(), record.len());
    }
    assert_eq!(world.names(), ["audit-2023-11-14T22-13-20.007.log", "audit.log"]);
    assert_eq!(world.read("audit-2023-11-14T22-13-20.007.log"), "12345\n678\n");
    assert_eq!(world.read("audit.log"), "90\n");
    let mode = fs::metadata(world.options().path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn reopened_files_are_appended_within_the_limit() {
    let world = World::new();
    world.file(&world.options()).write_all(b"1234").unwrap();
    world.file(&world.options()).write_all(b"5678").unwrap();
    assert_eq!(world.read("audit.log"), "12345678");
    let mut file = world.file(&world.options());
    let error = file.write(&[b'x'; 11]).unwrap_err();
    assert_eq!(error.to_string(), "write length 11 exceeds maximum file size 10");
    file.write_all(b"90").unwrap();
    assert_eq!((world.names().len(), world.read("audit.log").as_str()), (2, "90"));
}

#[test]
fn files_without_limit_are_not_rotated() {
    let world = World::new();
    let mut file = world.file(&FileOptions { bytes_max: None, ..world.options() });
    for _ in 0..10 {
        file.write_all(b"0123456789").unwrap();
    }
    assert_eq!((world.names().len(), world.read("audit.log").len()), (1, 100));
}

#[test]
fn backups_are_deleted_by_number_and_age() {
    let world = World::new();
    let options = world.options();
    drop(world.file(&options));
    let new = "audit-2023-11-14T10-00-00.000.log";
    let middle = "audit-2023-11-13T10-00-00.000.log.gz";
    let old = "audit-2023-11-01T10-00-00.000.log";
    let check = |options: FileOptions, expected: &[&str]| {
        for name in [new, middle, old, "audit-of-mine.log", "other"] {
            world.put(name);
        }
        clean_up(&options, NOW).unwrap();
        let remaining: Vec<String> =
            world.names().into_iter().filter(|name| name.starts_with("audit-2")).collect();
        assert_eq!(remaining, expected);
        assert!(world.names().iter().any(|name| name == "audit-of-mine.log"));
    };
    check(options.clone(), &[old, middle, new]);
    check(FileOptions { backups_max: 2, ..options.clone() }, &[middle, new]);
    check(FileOptions { days_max: 1, ..options.clone() }, &[new]);
    check(FileOptions { days_max: 2, backups_max: 1, ..options }, &[new]);
}

#[test]
fn old_files_are_compressed() {
    let world = World::new();
    let options = FileOptions { compress: true, ..world.options() };
    drop(world.file(&options));
    world.put("audit-2023-11-14T10-00-00.000.log");
    clean_up(&options, NOW).unwrap();
    assert_eq!(world.names(), ["audit-2023-11-14T10-00-00.000.log.gz", "audit.log"]);
    let packed = fs::File::open(world.dir.path().join("logs/audit-2023-11-14T10-00-00.000.log.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    assert_eq!(text, "audit-2023-11-14T10-00-00.000.log");
}
