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
    let (one, other) = (Fork::new().unwrap(), Fork::new().unwrap());
    let (first, second) = (address(&one), address(&other));
    assert_ne!(first, second);
    drop(one);
    while std::net::TcpStream::connect(&first).is_ok() {}
    assert!(std::net::TcpStream::connect(&second).is_ok(), "the other one is still there");
}
