//! Ways to misconfigure the server. The last line of its output names the flag, the file or address, and the cause.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// A command line and the parts of its message. `DIR` is a directory with test files, `TAKEN` a port in use.
struct Row {
    line: &'static str,
    expected: &'static [&'static str],
}

const fn row(line: &'static str, expected: &'static [&'static str]) -> Row {
    Row { line, expected }
}

/// Number of programs at the same time.
const PROGRAMS: usize = 4;

/// Polling interval for the end of a program, and the number of polls: one minute in total.
const POLL: Duration = Duration::from_millis(20);
const POLLS_MAX: u32 = 3_000;

/// Parts of the output of `derive(Debug)`.
const DEBUG_TEXTS: [&str; 7] = ["Some(", "Ok(", "Err(", "Error {", "Os {", "kind: ", "PathBuf"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The command line.
    row("--etcd-server=a", &["--etcd-server", "did you mean --etcd-servers?"]),
    row("--secure-port=x", &["--secure-port", "\"x\"", "invalid syntax"]),
    row("--secure-port", &["flag needs an argument: --secure-port"]),
    row("--bind-address=here", &["--bind-address", "here", "IP"]),
    row("--request-timeout=1", &["--request-timeout", "missing unit"]),
    row("--goaway-chance=high", &["--goaway-chance", "high", "invalid syntax"]),
    row("--v=loud", &["-v, --v", "loud", "invalid syntax"]),
    row("--audit-log-maxage=ten", &["--audit-log-maxage", "ten", "invalid syntax"]),
    row("--profiling=perhaps", &["--profiling", "perhaps", "invalid syntax"]),
    row("--service-node-port-range=many", &["--service-node-port-range", "many"]),
    row("--tls-sni-cert-key=a", &["--tls-sni-cert-key", "\"a\""]),
    row("serve", &["does not take any arguments", "serve"]),
    row("-z", &["unknown shorthand flag: 'z' in -z"]),
    row("---x", &["bad flag syntax: ---x"]),
    // Values.
    row("--secure-port=0", &["--secure-port 0", "between 1 and 65535"]),
    row("--secure-port=70000", &["--secure-port 70000", "between 1 and 65535"]),
    row("--etcd-servers=http://127.0.0.1:1", &["service-account-issuer", "required"]),
    row("--etcd-servers=http://a:1 --embedded-in-memory", &["--embedded-in-memory", "--etcd-servers"]),
    row("--etcd-servers=http://a:1 --embedded-from=b", &["--embedded-from", "--etcd-servers"]),
    row("--etcd-servers=http://a:1 --embedded-controllers", &["--embedded-controllers", "--etcd-servers"]),
    row("--tls-cert-file=a", &["--tls-cert-file", "--tls-private-key-file", "together"]),
    row("--authorization-mode=Magic", &["authorization-mode", "Magic", "not a valid mode"]),
    row("--authorization-mode=ABAC", &["authorization-mode", "ABAC", "policy file not passed"]),
    row("--authorization-mode=Webhook", &["authorization-mode", "Webhook", "config file not passed"]),
    row("--enable-admission-plugins=Magic", &["enable-admission-plugins", "Magic", "unknown"]),
    row("--disable-admission-plugins=Magic", &["disable-admission-plugins", "Magic", "unknown"]),
    row("--feature-gates=Magic=true", &["feature-gates", "Magic", "unrecognized"]),
    row("--feature-gates=MemoryQoS=perhaps", &["feature-gates", "MemoryQoS=perhaps", "invalid syntax"]),
    row("--feature-gates=MemoryQoS", &["feature-gates", "missing bool value for MemoryQoS"]),
    row("--emulated-version=1.20", &["emulat", "1.20"]),
    row("--emulated-version=one", &["emulated-version", "one"]),
    row("--runtime-config=apps/v1=perhaps", &["runtime-config", "perhaps"]),
    row("--service-cluster-ip-range=10.0.0.0", &["service-cluster-ip-range", "10.0.0.0", "not a valid cidr"]),
    row(
        "--service-cluster-ip-range=10.0.0.0/8 --emulated-version=1.34 --feature-gates=DisableAllocatorDualWrite=false",
        &["--service-cluster-ip-range", "too large"],
    ),
    row("--max-requests-inflight=-1", &["--max-requests-inflight", "negative"]),
    row("--request-timeout=-1s", &["--request-timeout", "negative"]),
    row("--goaway-chance=0.5", &["--goaway-chance", "0.02"]),
    row("--logging-format=xml", &["--logging-format", "xml", "Unsupported"]),
    row("--storage-backend=consul", &["--storage-backend", "etcd3"]),
    row("--memory-limit=lots", &["--memory-limit", "lots", "quantity"]),
    row("--watch-cache-sizes=pods", &["watch-cache-sizes", "pods", "invalid"]),
    row("--audit-log-path=- --audit-log-mode=maybe", &["audit", "mode", "maybe", "allowed"]),
    row("--audit-log-path=- --audit-log-format=xml", &["--audit-log-format", "xml", "allowed"]),
    row("--endpoint-reconciler-type=magic", &["--endpoint-reconciler-type", "magic"]),
    row("--advertise-address=127.0.0.2", &["--advertise-address", "127.0.0.2", "loopback range"]),
    row("--strict-transport-security-directives=x", &["--strict-transport-security-directives", "allowed"]),
    row("--encryption-provider-config-automatic-reload", &["--encryption-provider-config"]),
    row("--tls-cipher-suites=NONE", &["--tls-cipher-suites", "NONE"]),
    row("--tls-min-version=VersionTLS99", &["--tls-min-version", "VersionTLS99"]),
    row("--admission-control=x", &["--admission-control", "not supported"]),
    row("--apiserver-count=0", &["--apiserver-count", "positive"]),
    row("--kubernetes-service-node-port=-1", &["--kubernetes-service-node-port", "-1"]),
    row("--coordinated-leadership-lease-duration=1s", &["--coordinated-leadership-lease-duration", "greater"]),
    // Files, directories and addresses.
    row("--client-ca-file=DIR/none", &["--client-ca-file", "DIR/none", "o such file"]),
    row("--client-ca-file=DIR/garbage", &["--client-ca-file", "DIR/garbage"]),
    row("--token-auth-file=DIR/none", &["--token-auth-file", "DIR/none", "o such file"]),
    row("--tls-cert-file=DIR/none --tls-private-key-file=DIR/garbage", &["--tls-cert-file", "DIR/none"]),
    row("--tls-cert-file=DIR/garbage --tls-private-key-file=DIR/garbage", &["--tls-", "DIR/garbage"]),
    row("--service-account-key-file=DIR/none", &["--service-account-key-file", "DIR/none", "o such file"]),
    row("--service-account-key-file=DIR/garbage", &["--service-account-key-file", "DIR/garbage"]),
    row("--service-account-signing-key-file=DIR/none", &["--service-account-signing-key-file", "DIR/none"]),
    row("--audit-log-path=- --audit-policy-file=DIR/none", &["--audit-policy-file", "DIR/none"]),
    row("--audit-log-path=- --audit-policy-file=DIR/garbage", &["--audit-policy-file", "DIR/garbage"]),
    row("--encryption-provider-config=DIR/none", &["--encryption-provider-config", "DIR/none"]),
    row("--authentication-config=DIR/none", &["--authentication-config", "DIR/none"]),
    row("--authorization-config=DIR/none", &["--authorization-config", "DIR/none"]),
    row("--admission-control-config-file=DIR/none", &["--admission-control-config-file", "DIR/none"]),
    row("--tracing-config-file=DIR/none", &["tracing-config-file", "DIR/none", "does not exist"]),
    row("--egress-selector-config-file=DIR/none", &["egress-selector-config-file", "DIR/none", "does not exist"]),
    row("--embedded-from=DIR/none", &["--embedded-from", "DIR/none", "o such file"]),
    row("--embedded-from=DIR/garbage", &["--embedded-from", "DIR/garbage", "snapshot"]),
    row("--embedded-data-dir=DIR/garbage", &["--embedded-data-dir", "DIR/garbage", "ot a directory"]),
    row("--embedded-data-dir=DIR/damaged", &["--embedded-data-dir", "DIR/damaged", "--embedded-from"]),
    row("--secure-port=TAKEN", &["--secure-port", "127.0.0.1:TAKEN", "ddress already in use"]),
    row("--bind-address=192.0.2.1", &["--bind-address", "192.0.2.1", "annot assign requested address"]),
];

/// Test files and a port in use.
struct Fixture {
    dir: tempfile::TempDir,
    taken: TcpListener,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("garbage"), "{]").unwrap();
        let store = dir.path().join("damaged/store");
        std::fs::create_dir_all(&store).unwrap();
        std::fs::write(store.join("store.redb"), vec![b'x'; 100_000]).unwrap();
        Fixture { dir, taken: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn filled(&self, text: &str) -> String {
        let port = self.taken.local_addr().unwrap().port();
        text.replace("DIR", &self.dir.path().display().to_string()).replace("TAKEN", &port.to_string())
    }

    /// Returns the arguments of a row. Flags that it lacks prevent effects outside of the directory.
    fn arguments(&self, row: &Row, data: &Path) -> Vec<String> {
        let mut arguments = Vec::new();
        if !row.line.contains("--embedded-data-dir") && !row.line.contains("--etcd-servers") {
            arguments.push(format!("--embedded-data-dir={}", data.display()));
        }
        if !row.line.contains("--secure-port") {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            arguments.push(format!("--secure-port={}", free.local_addr().unwrap().port()));
        }
        arguments.extend(row.line.split(' ').map(|word| self.filled(word)));
        arguments
    }

    /// Returns the problem of a row, if it has one.
    fn problem(&self, row: &Row) -> Option<String> {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kube-apiserver"));
        command.args(self.arguments(row, data.path())).stdin(Stdio::null());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let has_ended = (0..POLLS_MAX).any(|_| {
            thread::sleep(POLL);
            child.try_wait().expect("a child can be waited for").is_some()
        });
        if !has_ended {
            child.kill().expect("a child can be killed");
        }
        let output = child.wait_with_output().expect("a child can be waited for");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = log.trim_end().lines().last().unwrap_or_default().replace("\\\"", "\"");
        let missing = row.expected.iter().find(|part| !last.contains(&self.filled(part)));
        let debug = DEBUG_TEXTS.iter().find(|text| last.contains(*text));
        match (output.status.code(), missing, debug) {
            (Some(1), None, None) => None,
            (code, missing, debug) => Some(format!(
                "{}\n  code {code:?}, missing {missing:?}, debug text {debug:?}\n  {last}",
                row.line
            )),
        }
    }
}

#[test]
fn misconfiguration_is_explained_in_last_line() {
    assert!(ROWS.len() >= 60);
    let fixture = Fixture::new();
    let next = AtomicUsize::new(0);
    let work = || {
        let rows = std::iter::from_fn(|| ROWS.get(next.fetch_add(1, Relaxed)));
        rows.filter_map(|row| fixture.problem(row)).collect::<Vec<_>>()
    };
    let problems: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..PROGRAMS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), ROWS.len(), problems.join("\n"));
}
