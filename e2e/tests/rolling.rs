//! Short form of `make rolling`: three replicas behind haproxy change from an emulated v1.36 to v1.37 and back under load.
#![allow(clippy::panic)]

use std::process::Command;
use std::time::Duration;

use e2e::{process, tools};

const LIMIT: Duration = Duration::from_secs(600);
/// Writes per second. Builds and other tests run beside this one.
const RATE: &str = "100";
/// Seconds of load before each check, and of the idle cluster in it.
const LOAD_SECONDS: &str = "2";
const IDLE_SECONDS: &str = "3";
/// Checks of one new replica beside two old ones, of new ones, and of old ones after their return.
const CHECK_AFTER: &str = "1,3,6";

#[test]
fn upgrade_and_downgrade_keep_all_claims() {
    let mut script = Command::new(tools::program("python3"));
    script
        .arg(tools::root().join("e2e/rolling/rolling.py"))
        .args(["--old-flags=--emulated-version=1.36", "--new"])
        .arg(tools::apiserver())
        .args([
            "--rate",
            RATE,
            "--seconds",
            LOAD_SECONDS,
            "--idle",
            IDLE_SECONDS,
            "--check-after",
            CHECK_AFTER,
        ]);
    let done = process::run(&mut script, "", LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
}
