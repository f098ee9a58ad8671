//! Responses of proxies to CONNECT.
#![allow(clippy::unwrap_used)]

use tokio::io::duplex;

use super::*;

async fn connect_with_response(response: &[u8]) -> Result<(), String> {
    let (near, mut far) = duplex(1 << 20);
    far.write_all(response).await.unwrap();
    far.shutdown().await.unwrap();
    let result =
        connect(Box::new(near), "proxy:1", "10.0.0.1:443").await.map(drop).map_err(|error| error.to_string());
    let mut request = String::new();
    far.read_to_string(&mut request).await.unwrap();
    assert_eq!(request, "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    result
}

#[tokio::test]
async fn only_bare_200_responses_open_a_connection() {
    let check = async |response: &str, expected: Result<(), &str>| {
        assert_eq!(
            connect_with_response(response.as_bytes()).await,
            expected.map_err(str::to_owned),
            "{response}"
        );
    };
    let unread = |cause: &str| {
        format!("reading HTTP response from CONNECT to 10.0.0.1:443 via proxy proxy:1 failed: {cause}")
    };
    check("HTTP/1.1 200 OK\r\n\r\n", Ok(())).await;
    check("HTTP/1.0 200 Connection established\r\nA: b\r\n\r\n", Ok(())).await;
    check("HTTP/1.1 200\n\n", Ok(())).await;
    check(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        Err("proxy error from proxy:1 while dialing 10.0.0.1:443, code 403: 403 Forbidden"),
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\n\r\nmore",
        Err("unexpected 4 bytes of buffered data from CONNECT proxy \"proxy:1\""),
    )
    .await;
    check("", Err(&unread("unexpected EOF"))).await;
    check("HTTP/1.1 200 OK\r\n", Err(&unread("unexpected EOF"))).await;
    check("nonsense\r\n\r\n", Err(&unread("malformed HTTP response \"nonsense\""))).await;
    check("HTTP/1.1 2000 x\r\n\r\n", Err(&unread("malformed HTTP status code \"2000\""))).await;
    check("HTTP/one 200 x\r\n\r\n", Err(&unread("malformed HTTP version \"HTTP/one\""))).await;
}

#[tokio::test]
async fn endless_heads_are_cut_off() {
    let limit = usize::try_from(HEAD_BYTES_MAX).unwrap();
    for response in [
        "HTTP/1.1 200 OK\r\na: ".to_owned() + &"b".repeat(limit),
        "HTTP/1.1 200 OK\r\n".to_owned() + &"a: b\r\n".repeat(limit / 6),
    ] {
        assert!(connect_with_response(response.as_bytes()).await.unwrap_err().ends_with("unexpected EOF"));
    }
}

#[tokio::test(start_paused = true)]
async fn silent_proxy_times_out() {
    let (near, _far) = duplex(1024);
    let error = connect(Box::new(near), "p", "t:1").await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "reading HTTP response from CONNECT to t:1 via proxy p failed: i/o timeout"
    );
}
