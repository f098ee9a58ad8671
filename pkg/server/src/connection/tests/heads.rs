//! Tests of accepted HTTP/1.1 requests. The behaviour of Go's server was observed by sending it the same
//! bytes. Cases where Go is more lenient are marked.

use super::*;

/// Valid request that shows if the connection is still open.
const LAST: &str = "GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// Sends bytes followed by a request. Returns the codes of all responses.
async fn codes(raw: &[u8]) -> (Vec<u16>, String) {
    let pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
    let (mut read, mut write) = tokio::io::split(pipe.client);
    let bytes = [raw, LAST.as_bytes()].concat();
    let sending = tokio::spawn(async move {
        // After a rejection the server closes the connection before it has read all input.
        let _ = write.write_all(&bytes).await;
        write
    });
    let mut got = Vec::new();
    timeout(PATIENCE, read.read_to_end(&mut got)).await.unwrap().unwrap();
    // After a rejection the server waits for a moment until the client disconnects.
    drop((read, sending.await.unwrap()));
    timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
    let got = String::from_utf8_lossy(&got).into_owned();
    let codes = got.split("HTTP/1.").skip(1).map(|answer| answer[2..5].parse().unwrap()).collect();
    (codes, got)
}

async fn check(cases: &[(&str, &[u16])]) {
    for (raw, expected) in cases {
        let (codes, got) = codes(raw.as_bytes()).await;
        assert_eq!(codes, *expected, "{raw:?}: {got}");
    }
}

/// Accepted, and so is the next request.
const OK: &[u16] = &[200, 200];

#[tokio::test]
async fn a_request_line_has_one_meaning() {
    let line = |line: &str| format!("{line}\r\nHost: x\r\n\r\n");
    for (text, expected) in [
        ("GET /api HTTP/1.1", OK),
        ("get /api HTTP/1.1", OK),
        ("GET //y/api HTTP/1.1", &[404, 200]),
        ("GET http://x/api HTTP/1.1", OK),
        ("OPTIONS * HTTP/1.1", OK),
        ("GET /api<x> HTTP/1.1", &[400]), // Go: 404
        ("\r\nGET /api HTTP/1.1", &[400]),
        ("\nGET /api HTTP/1.1", &[400]),
        ("\r\n\r\n\r\n", &[400]),
        ("GET  /api HTTP/1.1", &[400]),
        (" /api HTTP/1.1", &[400]),
        ("GET\t/api HTTP/1.1", &[400]),
        ("GET /a pi HTTP/1.1", &[400]),
        ("GET /api HTTP/1.1 ", &[400]),
        ("GET /api", &[400]),
        ("G@T /api HTTP/1.1", &[400]),
        ("GET api HTTP/1.1", &[400]),
        ("GET mailto:x HTTP/1.1", &[400]),       // Go: 200
        ("GET http://u@x/api HTTP/1.1", &[400]), // Go: 200
        ("GET http:///api HTTP/1.1", &[400]),    // Go: 200
        ("GET /api#x HTTP/1.1", &[400]),         // Go: 200, and `#x` belongs to the path
        ("CONNECT x:80 HTTP/1.1", &[400]),       // Go: 200
        ("GET /api\u{1} HTTP/1.1", &[400]),
        ("GET /api\u{7f} HTTP/1.1", &[400]),
        ("GET /api http/1.1", &[400]),
        ("GET /api HTTP/1.10", &[400]),
        ("GET /api HTTP/1.2", &[505]), // Go: 200
        ("GET /api HTTP/2.0", &[505]),
    ] {
        check(&[(&line(text), expected)]).await;
    }
    check(&[("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[505])]).await;
}

#[tokio::test]
async fn exactly_one_valid_host_is_required() {
    check(&[
        ("GET /api HTTP/1.1\r\n\r\n", &[400]),
        ("GET http://x/api HTTP/1.1\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", &[400]),
        ("GET /api HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost: a@b\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost: a b\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost: a/b\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost: \u{e9}\r\n\r\n", &[400]),
        ("GET /api HTTP/1.1\r\nHost:\r\n\r\n", OK),
        ("GET /api HTTP/1.1\r\nhOST:  [::1]:80\t\r\n\r\n", OK),
        ("GET /api HTTP/1.0\r\n\r\n", &[200]),
    ])
    .await;
    let (_, got) = codes(b"GET /api HTTP/1.1\r\n\r\n").await;
    assert!(got.ends_with("\r\n\r\n400 Bad Request: missing required Host header"), "{got}");
}

#[tokio::test]
async fn field_has_one_line_and_a_name() {
    let with = |fields: &str| format!("GET /api HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    for (fields, expected) in [
        ("X: a\tb\u{e9}\r\n", OK),
        ("X:\r\n", OK),
        ("X: a\r\n b\r\n", &[400]), // Go: 200
        ("X: a\nY: b\r\n", &[400]), // Go: 200
        ("X: a\rb\r\n", &[400]),
        ("X: a\0\r\n", &[400]),
        ("X: a\u{1}\r\n", &[400]),
        ("X: a\u{7f}\r\n", &[400]),
        ("X : a\r\n", &[400]),
        (": a\r\n", &[400]),
        ("X\r\n", &[400]),
        ("X(: a\r\n", &[400]),
        ("X\u{e9}: a\r\n", &[400]),
    ] {
        check(&[(&with(fields), expected)]).await;
    }
    check(&[("GET /api HTTP/1.1\n", &[400])]).await;
}

#[tokio::test]
async fn a_body_has_one_length() {
    let post =
        |fields: &str, body: &str| format!("POST /api/v1/echo HTTP/1.1\r\nHost: x\r\n{fields}\r\n{body}");
    for (fields, body, expected) in [
        ("Content-Length: 0002\r\n", "ab", OK),
        ("Content-Length: 2\r\nContent-Length: 2\r\n", "ab", &[400]), // Go: 200
        ("Content-Length: 2\r\nContent-Length: 3\r\n", "abc", &[400]),
        ("Content-Length: 2, 2\r\n", "ab", &[400]),
        ("Content-Length: +2\r\n", "ab", &[400]),
        ("Content-Length: -2\r\n", "ab", &[400]),
        ("Content-Length: 0x2\r\n", "ab", &[400]),
        ("Content-Length:\r\n", "", &[400]),
        ("Content-Length: 9223372036854775808\r\n", "ab", &[400]),
        ("Content-Length: 184467440737095516162\r\n", "ab", &[400]),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n", &[400]), // Go: 200
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", &[400]), // Go: 200
        ("Transfer-Encoding: cHUNKED\r\n", "0\r\n\r\n", OK),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", &[501]),
        ("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n", &[501]),
        ("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", &[501]),
        ("Transfer-Encoding: identity\r\n", "", &[501]),
        ("Transfer-Encoding:\r\n", "", &[501]),
        ("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n", &[400]),
        ("Expect: 200-ok\r\nContent-Length: 2\r\n", "ab", &[417]),
        ("Expect: 200-ok, 100-continue\r\nContent-Length: 2\r\n", "ab", &[417]), // Go: 200
        ("Expect: 100-Continue\r\nContent-Length: 2\r\n", "ab", &[100, 200, 200]),
    ] {
        check(&[(&post(fields, body), expected)]).await;
    }
    let old = "POST /api HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(&[(old, &[400])]).await; // Go: 200
}

#[tokio::test]
async fn chunk_sizes_have_at_most_16_digits() {
    let post = |body: &str| {
        format!("POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
    };
    let extension = |bytes: usize| format!("2;{}\r\nab\r\n0\r\n\r\n", "x".repeat(bytes));
    for (body, expected) in [
        ("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", Some("abc")),
        ("0000000000000002\r\nab\r\n0\r\n\r\n", Some("ab")),
        ("2 \t;a=b\r\nab\r\n0\r\nX: y\r\n\r\n", Some("ab")),
        (&extension(3000), Some("ab")),
        (&extension(20_000), None),
        ("00000000000000002\r\nab\r\n0\r\n\r\n", None),
        ("2\r\nab\r\n00000000000000000\r\n\r\n", None),
        ("+2\r\nab\r\n0\r\n\r\n", None),
        ("0x2\r\nab\r\n0\r\n\r\n", None),
        (" 2\r\nab\r\n0\r\n\r\n", None),
        ("\r\nab\r\n0\r\n\r\n", None),
        ("2;a\nb\r\nab\r\n0\r\n\r\n", None),
        ("2\nab\r\n0\r\n\r\n", None),
        ("2\r\nab\n0\r\n\r\n", None),
        ("2\r\nabc\r\n0\r\n\r\n", None),
        ("2\r\nab\r\n0\r\nX y\r\n\r\n", None),
        ("2\r\nab\r\n0\r\nX: y\n\r\n", None), // Go takes it, and the next line for another field
        ("2\r\nab\r\n0\r\n\n", None),
    ] {
        let (codes, got) = codes(post(body).as_bytes()).await;
        match expected {
            Some(echoed) => {
                assert_eq!(codes, OK, "{body:?}: {got}");
                assert!(got.contains(&format!("\r\n\r\n{echoed}HTTP/1.1 200")), "{body:?}: {got}");
            }
            None => assert!(!codes.contains(&200), "{body:?}: {got}"),
        }
    }
}

#[tokio::test]
async fn heads_have_bounds() {
    let fields =
        |count: usize| format!("GET /api HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(count - 1));
    let target = |bytes: usize| format!("GET /api?{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(bytes - 5));
    let value = |bytes: usize| format!("GET /api HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(bytes));
    check(&[
        (&fields(1024), OK),
        (&fields(1025), &[431]),
        (&target(65_534), OK),
        (&target(65_535), OK),
        (&target(1_000_000), OK),
        (&target(1_100_000), &[431]),
        (&format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(65_534)), &[414]),
        (&value(1_000_000), OK),
        (&value((1 << 20) + 4096), &[431]),
    ])
    .await;
}

#[tokio::test]
async fn large_head_arrives_completely() {
    let large = "x".repeat(10_000);
    let head = format!(
        "POST /api/v1/headers?{large} HTTP/1.1\r\nHost: x\r\nX-Large: {large}\r\ncontent-LENGTH: 2\r\n\r\nab"
    );
    let (answers, got) = codes(format!("{head}{head}").as_bytes()).await;
    assert_eq!(answers, [200, 200, 200], "{got}");
    assert_eq!(got.matches(r#"["host", "x-large", "content-length"]"#).count(), 2, "{got}");
    let chunked = format!(
        "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nX: {large}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    );
    let (answers, got) = codes(chunked.as_bytes()).await;
    assert!(answers == OK && got.contains("\r\n\r\nabHTTP"), "{got}");
}

#[tokio::test]
async fn connection_fields_are_small() {
    let with = |field: &str| format!("GET /api HTTP/1.1\r\nHost: x\r\n{field}\r\n");
    check(&[
        (&with(&format!("Connection: {}\r\n", "a,".repeat(3000))), OK),
        (&with(&format!("Connection: {}\r\n", "a,".repeat(5000))), &[431]),
        (&format!("{} /api HTTP/1.1\r\nHost: x\r\n\r\n", "G".repeat(9000)), &[431]),
    ])
    .await;
}

#[tokio::test]
async fn rejection_follows_earlier_responses() {
    let (codes, got) = codes(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\nGET /api HTTP/1.1\r\n\r\n").await;
    assert_eq!(codes, [200, 400], "{got}");
}

#[tokio::test]
async fn split_requests_are_accepted() {
    let request =
        "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let request =
        [request, "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\ncd", LAST].concat();
    for size in 1..request.len() {
        let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
        for piece in request.as_bytes().chunks(size) {
            pipe.client.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut got = String::new();
        timeout(PATIENCE, pipe.client.read_to_string(&mut got)).await.unwrap().unwrap();
        let bodies: Vec<&str> =
            got.split("\r\n\r\n").skip(1).map(|text| text.split("HTTP").next().unwrap()).collect();
        assert_eq!(bodies, ["ab", "cd", "dispatched"], "in pieces of {size}");
    }
}
