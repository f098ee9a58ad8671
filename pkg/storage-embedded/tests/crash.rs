//! Kills the writing process at random moments, and verifies the acknowledged writes.
//!
//! This program runs itself as a child. The child opens the store, writes from several tasks and reports each
//! write on its standard output before and after. The parent kills it without warning, opens the store,
//! verifies it, and restarts with the same store. `MAINSTAY_KILLS` is the number of rounds (20),
//! `MAINSTAY_SEED` seeds the moments and the writes (1).
//!
//! A killed process loses its memory but nothing that it has passed to the kernel. Power losses are tested on
//! a simulated disk in the crate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ledger::{Entry, Ledger, Random, write_until_failure};
use storage_embedded::{EmbeddedStore, Options};

#[path = "support/ledger.rs"]
mod ledger;

const WRITERS: u64 = 8;

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    match &arguments[..] {
        [_, child, dir, seed] if child == "--child" => write(Path::new(dir), seed.parse().unwrap()),
        [_, list, ..] if list == "--list" => println!("what_was_acknowledged_survives_a_kill: test"),
        _ => what_was_acknowledged_survives_a_kill(),
    }
}

/// Formats an entry as a line of text.
fn line(entry: &Entry) -> String {
    match entry {
        Entry::Try { key, stamp } => format!("try {key} {stamp}\n"),
        Entry::Done { key, stamp, revision } => format!("done {key} {stamp} {revision}\n"),
        Entry::Compact { revision } => format!("compact {revision}\n"),
    }
}

/// Parses a line, `None` for a partial one.
fn parse(line: &str) -> Option<Entry> {
    let words: Vec<_> = line.strip_suffix('\n')?.split(' ').collect();
    match words[..] {
        ["try", key, stamp] => Some(Entry::Try { key: key.into(), stamp: stamp.parse().ok()? }),
        ["done", key, stamp, revision] => Some(Entry::Done {
            key: key.into(),
            stamp: stamp.parse().ok()?,
            revision: revision.parse().ok()?,
        }),
        ["compact", revision] => Some(Entry::Compact { revision: revision.parse().ok()? }),
        _ => None,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A small cache and little memory for history, so that everything involves the disk.
fn open(dir: &Path) -> Arc<EmbeddedStore> {
    let options = Options::new(Arc::new(SystemTime::now));
    EmbeddedStore::open(dir, Options { history_bytes_max: 1 << 16, cache_bytes: 1 << 20, ..options }).unwrap()
}

/// The child: writes until it is killed.
fn write(dir: &Path, seed: u64) {
    runtime().block_on(async {
        let store = open(dir);
        let writers = (0..WRITERS).map(|writer| {
            let store = store.clone();
            // Writing a line is atomic: it is shorter than a pipe's guaranteed buffer.
            let say = |entry: Entry| std::io::stdout().lock().write_all(line(&entry).as_bytes()).unwrap();
            tokio::spawn(async move {
                write_until_failure(&*store, writer, Random(seed ^ writer << 32), say).await
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut errors = Vec::new();
        for writer in writers {
            errors.push(writer.await.unwrap());
        }
        panic!("the store failed: {errors:?}");
    });
}

/// Runs a child for a while and kills it.
fn kill_a_writer(dir: &Path, random: &mut Random, ledger: &mut Ledger) {
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--child", dir.to_str().unwrap(), &random.next().to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    // Most rounds kill under full load, some while the store is opened.
    let first_line = random.below(8) != 0;
    let wait = Duration::from_micros(random.below(150_000));
    let (line_sender, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut entries = Vec::new();
        let mut text = String::new();
        while output.read_line(&mut text).unwrap() > 0 {
            entries.extend(parse(&text));
            text.clear();
            // The receiver only waits for the first line.
            let _ = line_sender.send(());
        }
        entries
    });
    if first_line {
        lines.recv().expect("the child writes");
    }
    std::thread::sleep(wait);
    assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().into_iter().for_each(|entry| ledger.enter(entry));
}

fn what_was_acknowledged_survives_a_kill() {
    let kills = number("MAINSTAY_KILLS", 20);
    let seed = number("MAINSTAY_SEED", 1);
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let mut ledger = Ledger::default();
    let mut writes = 0;
    let runtime = runtime();
    for round in 0..kills {
        kill_a_writer(dir.path(), &mut random, &mut ledger);
        writes += ledger.acknowledged();
        println!("round {round}: {} acknowledged", ledger.acknowledged());
        runtime.block_on(async {
            let store = open(dir.path());
            ledger.settle(&*store).await;
            store.close().await;
        });
    }
    assert!(writes > 0, "a test without writes proves nothing");
    println!("{kills} kills, {writes} acknowledged writes, seed {seed}: none lost");
}
