//! Tests of watch frames.

use http_body_util::BodyExt;
use jsontree::Value;

use crate::routing::dispatch::Body;
use crate::testing::server::{CONFIG_MAPS, Client, JSON, PROTOBUF};

/// Bytes of a continuing response.
struct Frames {
    body: Body,
    read: Vec<u8>,
}

impl Frames {
    /// Reads until `complete` returns the length of the first frame, and removes that frame.
    async fn next(&mut self, complete: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
        loop {
            if let Some(length) = complete(&self.read) {
                return self.read.drain(..length).collect();
            }
            let frame = self.body.frame().await.unwrap().unwrap();
            self.read.extend(frame.into_data().unwrap());
        }
    }

    async fn json(&mut self) -> (String, Value) {
        let line = self.next(|read| read.iter().position(|byte| *byte == b'\n').map(|at| at + 1)).await;
        let mut event: Value = serde_json::from_slice(&line).unwrap();
        (event["type"].as_str().unwrap().to_owned(), event["object"].take())
    }
}

async fn watch(client: &Client, query: &str, accept: &str) -> (String, Frames) {
    let path = format!("{CONFIG_MAPS}?watch=true&labelSelector=app&{query}");
    let response = client.send_streaming("GET", &path, &[("accept", accept)], "").await;
    assert_eq!(response.status(), 200);
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    (media_type, Frames { body: response.into_body(), read: Vec::new() })
}

#[tokio::test]
async fn json_frames_are_lines() {
    let client = Client::start().await;
    let created = client.create_config_map("a", "x").await;
    let (media_type, mut frames) = watch(&client, "", JSON).await;
    assert_eq!(media_type, JSON);
    assert_eq!(frames.json().await, ("ADDED".to_owned(), created));
    let path = format!("{CONFIG_MAPS}/a");
    client.send("DELETE", &path, &[], "").await;
    let (kind, deleted) = frames.json().await;
    assert_eq!((kind.as_str(), deleted["metadata"]["name"].as_str()), ("DELETED", Some("a")));
}

#[tokio::test]
async fn protobuf_frames_are_length_prefixed() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let (media_type, mut frames) = watch(&client, "", PROTOBUF).await;
    assert_eq!(media_type, format!("{PROTOBUF};stream=watch"));
    let frame = frames
        .next(|read| {
            let length = u32::from_be_bytes(read.get(..4)?.try_into().unwrap()) as usize + 4;
            (read.len() >= length).then_some(length)
        })
        .await;
    // A WatchEvent: first its type, then a RawExtension with the enveloped object.
    assert!(frame[4..].starts_with(b"\x0a\x05ADDED\x12"), "{frame:?}");
    assert!(frame.windows(4).any(|window| window == b"k8s\0"), "{frame:?}");
}

#[tokio::test]
async fn the_end_of_the_initial_state_is_marked() {
    let client = Client::start().await;
    client.create_config_map("a", "x").await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let (_, mut frames) = watch(&client, query, JSON).await;
    assert_eq!(frames.json().await.0, "ADDED");
    let (kind, mark) = frames.json().await;
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(mark["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn only_watch_lists_are_compressed() {
    let client = Client::start().await;
    let check = async |query: &str, encodings: &str, expected: bool| {
        let path = format!("{CONFIG_MAPS}?watch=true&{query}");
        let response = client.send_streaming("GET", &path, &[("accept-encoding", encodings)], "").await;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let headers = [header("content-encoding"), header("vary")];
        let expected = if expected { [Some("gzip"), Some("Accept-Encoding")] } else { [None; 2] };
        assert_eq!(headers, expected, "{query} {encodings}");
    };
    let list = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    check(list, "gzip", true).await;
    check(list, "br, gzip ", true).await;
    check(list, "gzip;q=1.0", false).await;
    check(list, "deflate", false).await;
    check("", "gzip", false).await;
}

#[tokio::test]
async fn watch_from_version_sends_later_events() {
    let client = Client::start().await;
    let created = client.create_config_map("a", "x").await;
    let later = client.create_config_map("b", "x").await;
    let from = created["metadata"]["resourceVersion"].as_str().unwrap();
    let (_, mut frames) = watch(&client, &format!("resourceVersion={from}"), JSON).await;
    assert_eq!(frames.json().await, ("ADDED".to_owned(), later));
}
