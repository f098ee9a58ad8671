//! Tests against a running test server. Without one, only the error message is tested.

use mainstay_testserver::{ADDRESS_VARIABLE, Fork};

/// Address (host and port) of the fork's API server.
fn address(fork: &Fork) -> String {
    let kubeconfig: serde_json::Value = serde_json::from_str(fork.kubeconfig()).unwrap();
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    server.strip_prefix("https://").unwrap().to_owned()
}

#[test]
fn forks_are_independent_and_end_on_drop() {
    if std::env::var(ADDRESS_VARIABLE).is_err() {
        let error = Fork::new().unwrap_err().to_string();
        assert!(error.contains(ADDRESS_VARIABLE), "{error}");
        return;
    }
    let dropped = Fork::new().unwrap();
    let other = Fork::new().unwrap();
    let dropped_address = address(&dropped);
    let other_address = address(&other);
    assert_ne!(dropped_address, other_address);
    drop(dropped);
    while std::net::TcpStream::connect(&dropped_address).is_ok() {}
    assert!(std::net::TcpStream::connect(&other_address).is_ok(), "the other fork still listens");
}
