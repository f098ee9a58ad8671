//! Against a running test server; without one nothing is tested but what is said then.

use mainstay_testserver::{ADDRESS_VARIABLE, Fork};

/// The port of a fork's API server.
fn address(fork: &Fork) -> String {
    let kubeconfig: serde_json::Value = serde_json::from_str(fork.kubeconfig()).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    server.strip_prefix("https://").unwrap().to_owned()
}

#[test]
fn each_fork_is_a_control_plane_of_its_own_and_ends_when_it_is_dropped() {
    if std::env::var(ADDRESS_VARIABLE).is_err() {
        let error = Fork::new().unwrap_err().to_string();
        assert!(error.contains(ADDRESS_VARIABLE), "{error}");
        return;
    }
    let (one, other) = (Fork::new().unwrap(), Fork::new().unwrap());
    let (first, second) = (address(&one), address(&other));
    assert_ne!(first, second);
    drop(one);
    while std::net::TcpStream::connect(&first).is_ok() {}
    assert!(std::net::TcpStream::connect(&second).is_ok(), "the other one is still there");
}
