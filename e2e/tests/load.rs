//! About a hundred broken or malicious clients and one quiet client: the quiet client gets every response,
//! and the server survives. `LOAD=long` uses several thousand clients, and checks response times and
//! remaining memory (`make load`).

use std::process::Command;
use std::time::Duration;

use e2e::{Server, Store, tools};

/// Seed of which responses are read, and how far.
const SEED: &str = "1";
/// Response timeout of the short form in seconds; other tests run concurrently.
const PATIENCE: &str = "60";
/// Timeout for the server's exit afterwards.
const END_LIMIT: Duration = Duration::from_secs(60);

#[test]
fn quiet_client_is_served_among_misbehaving_clients() {
    let mut server = Server::start(Store::Embedded);
    let kubectl = server.kubectl();
    kubectl.ok("create serviceaccount load");
    kubectl.ok("create clusterrolebinding load --clusterrole=cluster-admin --serviceaccount=default:load");
    let token = kubectl.ok("create token load");
    let port = server.port().to_string();
    let pid = server.pid().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/load.py");
    let mut load = Command::new(tools::program("python3"));
    load.args([script, "--port", &port, "--token", token.trim(), "--pid", &pid, "--seed", SEED]);
    if std::env::var("LOAD").as_deref() != Ok("long") {
        load.args(["--short", "--p99-max", PATIENCE]);
    }
    let output = load.output().expect("python3 runs");
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    println!("{text}");
    assert!(output.status.success(), "{text}");
    assert!(server.is_running(), "the server has ended");
    assert!(server.terminate(END_LIMIT).success(), "the server did not end in order");
}
