//! Clients that are broken or mean no good, some hundred of them, and one that is quiet: it gets every answer, and the
//! server outlives them. `LOAD=long` sends some thousand, and judges how long answers took and what memory is left
//! over (`make load`).

use std::process::Command;
use std::time::Duration;

use e2e::{Server, Store, tools};

/// Chooses which answers are read and how far; one run is like another.
const SEED: &str = "1";
/// How long an answer of the short form may take, in seconds: other tests take their time meanwhile.
const PATIENCE: &str = "60";
/// How long the server may take to end afterwards.
const END_LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_quiet_client_gets_every_answer_among_idle_slow_and_reset_ones() {
    let mut server = Server::start(Store::Embedded);
    let kubectl = server.kubectl();
    kubectl.ok("create serviceaccount load");
    let token = kubectl.ok("create token load");
    let (port, pid) = (server.port().to_string(), server.pid().to_string());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/load.py");
    let mut load = Command::new(tools::program("python3"));
    load.args([script, "--port", &port, "--token", token.trim(), "--pid", &pid, "--seed", SEED]);
    if std::env::var("LOAD").as_deref() != Ok("long") {
        load.args(["--short", "--p99-max", PATIENCE]);
    }
    let told = load.output().expect("python3 runs");
    let text = [told.stdout, told.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    println!("{text}");
    assert!(told.status.success(), "{text}");
    assert!(server.is_running(), "the server has ended");
    assert!(server.terminate(END_LIMIT).success(), "the server did not end in order");
}
