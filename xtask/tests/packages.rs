//! Runs the tests of the packages (`tools/package/tests.py`) with a stand-in for the server.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

/// Programs that the packages of the stand-in need. Other missing programs skip a single test.
const NEEDED: [&str; 3] = ["python3", "cc", "cargo"];

#[test]
fn packages_of_a_stand_in_pass() {
    for program in NEEDED {
        if Command::new(program).arg("--version").output().is_err() {
            println!("{program} is missing: the packages are not tested");
            return;
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let done = Command::new("python3").arg("tools/package/tests.py").current_dir(root).output().unwrap();
    let report = String::from_utf8_lossy(&done.stderr);
    println!("{report}");
    assert!(done.status.success(), "{report}{}", String::from_utf8_lossy(&done.stdout));
}
