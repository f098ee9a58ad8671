//! Runs the command blocks of README, `docs`, `deploy` and `clients` as a reader would: the blocks of a page share a shell and a
//! working directory. A block whose first line is `# Not tested: REASON` is skipped.
//!
//! - `sh dist` marks a command for the files of `make dist`, which `e2e/quickstarts` runs. `sh source` marks the same step in a
//!   clone.
//! - `sh server` marks a command that keeps running. Its line `export NAME=VALUE` is evaluated, as if the reader pasted it.
//! - Other pages have a fork of one test server as their cluster.
//! - Well-known ports and paths below `/tmp` are replaced, because other programs of the machine may use them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use e2e::documents::{self, Block, SHELL};
use e2e::testserver::TestServer;
use e2e::{process, tools};
use tempfile::TempDir;

/// Time for all blocks of a page, after which `timeout` ends all its processes.
const PAGE_SECONDS: &str = "240";
/// The same, and time to end.
const PAGE_LIMIT: Duration = Duration::from_secs(300);
/// Number of pages that run at once.
const THREADS: usize = 4;
/// Ports in pages: of API servers, etcd, files of a release, and `kubectl proxy`.
const PORTS: [&str; 7] = ["16443", "6443", "6444", "2379", "2380", "8000", "8001"];
/// Folders and files of a clone that commands use.
const CLONE: [&str; 6] = ["clients", "deploy", "docs", "e2e", "tools", "Makefile"];
/// Start of every page's script. A server's process keeps running, and ends with the page.
const PRELUDE: &str = r#"
set -e
stop() {
  code=$?
  [ $code = 0 ] || echo "$PAGE:$block: exit code $code" >&2
  trap '' TERM
  kill -TERM 0
  exit $code
}
trap stop EXIT
until_ready() {
  while read -r line <&"$server"; do
    case $line in
      "export "*) eval "$line"; cat <&"$server" >/dev/null & return ;;
    esac
  done
  tail -3 server.log >&2
  return 1
}
"#;

#[test]
fn command_blocks_of_pages_pass() {
    let server = TestServer::start(&[]);
    let runs: Vec<PageRun> =
        documents::pages().into_iter().filter_map(|page| PageRun::new(page, &server)).collect();
    let runs = Mutex::new(runs);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(page) = { runs.lock().unwrap().pop() } {
                    let failure = page.run();
                    failures.lock().unwrap().extend(failure);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A page with command blocks, and its cluster.
struct PageRun {
    page: PathBuf,
    blocks: Vec<Block>,
    /// Keeps the cluster alive.
    _fork: BufReader<UnixStream>,
    kubeconfig: String,
    /// Address of the test server.
    address: String,
}

impl PageRun {
    /// Reads a page and forks a cluster for it; `None` if it has no block that is run. Prints the reasons of those that are
    /// skipped.
    fn new(page: PathBuf, server: &TestServer) -> Option<Self> {
        let text = std::fs::read_to_string(tools::root().join(&page)).unwrap();
        let mut blocks = documents::blocks(&text);
        blocks.retain(|block| block.language() == SHELL && !block.needs_dist());
        for block in &blocks {
            if let Some(reason) = block.untested() {
                println!("{}:{}: not tested: {reason}", page.display(), block.line);
            }
        }
        blocks.retain(|block| block.untested().is_none());
        (!blocks.is_empty()).then(|| PageRun::with_blocks(page, blocks, server))
    }

    fn with_blocks(page: PathBuf, blocks: Vec<Block>, server: &TestServer) -> Self {
        let (fork, kubeconfig) = server.ask("fork");
        let address = server.address.clone();
        PageRun { page, blocks, _fork: fork, kubeconfig: kubeconfig.to_string(), address }
    }

    /// Runs the blocks, and returns the output if one fails.
    fn run(&self) -> Option<String> {
        let reader = Reader::new();
        let done = reader.run(self, &reader.script(&self.blocks));
        println!("{}: {} blocks ran", self.page.display(), self.blocks.len());
        (!done.status.success()).then(|| format!("{}{}", done.stdout, done.stderr))
    }
}

/// A reader's clone of the repository, home and ports.
struct Reader {
    dir: TempDir,
    /// Free ports, in the order of [`PORTS`].
    ports: [String; PORTS.len()],
}

impl Reader {
    fn new() -> Self {
        let reader =
            Reader { dir: TempDir::new().unwrap(), ports: PORTS.map(|_| tools::free_port().to_string()) };
        for folder in ["bin", "clone", "home", "tmp"] {
            std::fs::create_dir(reader.path(folder)).unwrap();
        }
        for name in CLONE {
            std::os::unix::fs::symlink(tools::root().join(name), reader.path("clone").join(name)).unwrap();
        }
        reader.install("kube-apiserver", &server_wrapper(tools::apiserver(), reader.port("6443")));
        // The server is built already; `make run` only starts it.
        reader.install("make", "[ \"$1\" = run ] || exit 2\nexec kube-apiserver $FLAGS\n");
        reader
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the replacement of a port.
    fn port(&self, port: &str) -> &str {
        let at = PORTS.iter().position(|listed| *listed == port).unwrap();
        self.ports.get(at).unwrap()
    }

    /// Writes a program.
    fn install(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/usr/bin/env bash\n{text}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns a script with all blocks of a page.
    fn script(&self, blocks: &[Block]) -> String {
        let mut script = PRELUDE.to_owned();
        for block in blocks {
            let mut text = block.text.clone();
            for (from, to) in PORTS.iter().zip(&self.ports) {
                text = replace_number(&text, from, to);
            }
            let text = text.replace("/tmp/", &format!("{}/", self.path("tmp").display()));
            writeln!(script, "block={}", block.line).unwrap();
            if block.is_server() {
                writeln!(script, "exec {{server}}< <(exec 2>>server.log\n{text})\nuntil_ready").unwrap();
            } else {
                script.push_str(&text);
            }
        }
        script
    }

    fn run(&self, page: &PageRun, script: &str) -> process::Finished {
        let file = self.path("kubeconfig");
        std::fs::write(&file, &page.kubeconfig).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let path =
            format!("{}:{}:{path}", self.path("bin").display(), tools::target().join("tools/bin").display());
        let etcd = |port: &str| format!("http://127.0.0.1:{}", self.port(port));
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=10", PAGE_SECONDS, "bash", "-c", script])
            .current_dir(self.path("clone"))
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("KUBECONFIG", file)
            .env("MAINSTAY_TESTSERVER", &page.address)
            .env("ETCDCTL_API", "3")
            .env("ETCDCTL_ENDPOINTS", etcd("2379"))
            .env("PAGE", &page.page)
            .env_remove("XDG_DATA_HOME");
        for name in ["ETCD_LISTEN_CLIENT_URLS", "ETCD_ADVERTISE_CLIENT_URLS"] {
            command.env(name, etcd("2379"));
        }
        for name in ["ETCD_LISTEN_PEER_URLS", "ETCD_INITIAL_ADVERTISE_PEER_URLS"] {
            command.env(name, etcd("2380"));
        }
        command.env("ETCD_INITIAL_CLUSTER", format!("default={}", etcd("2380")));
        process::run(&mut command, "", PAGE_LIMIT)
    }
}

/// Returns a program that starts the server on `port`, unless the command has a port.
fn server_wrapper(server: &Path, port: &str) -> String {
    format!(
        "case \" $* \" in\n\
         \" help \"*|\" version \"*|\" completion \"*|\" testserver \"*|*\" --version \"*|*\" --secure-port\"*) \
         exec {server} \"$@\" ;;\n\
         esac\n\
         exec {server} \"$@\" --secure-port={port}\n",
        server = server.display()
    )
}

/// Replaces a number that is not a part of a longer one.
fn replace_number(text: &str, from: &str, to: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        replaced.push_str(before);
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let is_part = is_digit(before.chars().last()) || is_digit(after.chars().next());
        replaced.push_str(if is_part { from } else { to });
        rest = after;
    }
    replaced + rest
}

#[test]
fn parts_of_numbers_stay() {
    assert_eq!(replace_number("6443 16443 64430 :6443/", "6443", "1"), "1 16443 64430 :1/");
}

#[test]
fn failing_block_is_named() {
    let server = TestServer::start(&[]);
    let blocks = documents::blocks("```sh\ntrue\n```\n\n```sh\nfalse\n```\n");
    let failure = PageRun::with_blocks("page.md".into(), blocks, &server).run().unwrap();
    assert!(failure.contains("page.md:6: exit code 1"), "{failure}");
}
