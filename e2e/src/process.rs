//! Child processes with bounded waits: run to completion, or read line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Result of a finished program.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program with `stdin` as its input.
///
/// # Panics
/// It does not start, or takes longer than `limit`.
pub fn run(command: &mut Command, stdin: &str, limit: Duration) -> Finished {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let mut input = child.stdin.take().expect("piped");
    let text = stdin.to_owned();
    // A program can exit without reading its input.
    let writing = std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
    let stdout = read(child.stdout.take().expect("piped"));
    let stderr = read(child.stderr.take().expect("piped"));
    let (Ok(stdout), Ok(stderr)) = (stdout.recv_timeout(limit), stderr.recv_timeout(limit)) else {
        end(&mut child);
        panic!("{command:?} takes longer than {limit:?}");
    };
    writing.join().expect("the writer does not panic");
    Finished { status: child.wait().expect("a child can be waited for"), stdout, stderr }
}

/// Reads everything until the other side is closed.
fn read(mut from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// A running program whose output is read by lines. Killed when dropped.
pub struct Lines {
    child: Child,
    lines: Receiver<String>,
    reading: Option<JoinHandle<()>>,
}

impl Lines {
    /// Starts a program.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        let reading = std::thread::spawn(move || {
            // Reads to the end even without a receiver, so that the program never blocks.
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines, reading: Some(reading) }
    }

    /// Returns the next line that `predicate` accepts. `None` if the program exits, or prints nothing for
    /// `limit`.
    pub fn find(&self, limit: Duration, predicate: impl Fn(&str) -> bool) -> Option<String> {
        loop {
            let line = self.lines.recv_timeout(limit).ok()?;
            if predicate(&line) {
                return Some(line);
            }
        }
    }

    /// Returns the exit status; `None` if the program prints nothing and still runs after `limit`.
    pub fn ended(&mut self, limit: Duration) -> Option<ExitStatus> {
        loop {
            match self.lines.recv_timeout(limit) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                // Its standard output is closed when it exits.
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().ok(),
            }
        }
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        end(&mut self.child);
        if let Some(reading) = self.reading.take() {
            let _ = reading.join();
        }
    }
}

/// Sends a signal to a process, by name without `SIG`.
///
/// # Panics
/// It cannot be sent.
pub fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} to {pid}");
}

/// Kills a process with SIGKILL and waits until it is gone.
pub fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
