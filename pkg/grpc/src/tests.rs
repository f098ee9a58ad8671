//! Claims about calls over real sockets.
#![allow(clippy::unwrap_used)]

use tokio::net::UnixListener;

use super::*;

const METHOD: &str = "/v1.Nobody/Nothing";

#[tokio::test]
async fn a_process_that_never_comes_is_waited_for_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.sock");
    let socket = Socket::new(path.to_str().unwrap(), 1024);
    let answer = socket.call::<(), ()>(METHOD, (), Duration::from_millis(20)).await;
    let expected = format!(
        "rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = \
         \"transport: Error while dialing: dial unix {}: connect: no such file or directory\"",
        path.display()
    );
    assert_eq!(worded(&answer.unwrap_err()), expected);
}

#[tokio::test]
async fn a_process_that_says_nothing_holds_nobody_beyond_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mute.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let socket = Socket::new(path.to_str().unwrap(), 1024);
    let answer = socket.call::<(), ()>(METHOD, (), Duration::from_millis(20)).await;
    let expected = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    assert_eq!(worded(&answer.unwrap_err()), expected);
}
