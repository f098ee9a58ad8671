//! Calls over real sockets.
#![allow(clippy::unwrap_used)]

use tokio::net::UnixListener;

use super::*;

const METHOD: &str = "/v1.Nobody/Nothing";

#[tokio::test]
async fn missing_process_times_out_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.sock");
    let socket = Socket::new(path.to_str().unwrap(), 1024);
    let result = socket.call::<(), ()>(METHOD, (), Duration::from_millis(20)).await;
    let expected = format!(
        "rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = \
         \"transport: Error while dialing: dial unix {}: connect: no such file or directory\"",
        path.display()
    );
    assert_eq!(worded(&result.unwrap_err()), expected);
}

#[tokio::test]
async fn silent_process_times_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mute.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let socket = Socket::new(path.to_str().unwrap(), 1024);
    let result = socket.call::<(), ()>(METHOD, (), Duration::from_millis(20)).await;
    let expected = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    assert_eq!(worded(&result.unwrap_err()), expected);
}
