//! Tests of all combinations of list and watch options. Expected responses were recorded from upstream
//! (`options.tsv` describes their format).

use futures::future::join_all;
use http_body_util::BodyExt;
use jsontree::Value;

use crate::routing::dispatch::Response;
use crate::testing::server::{CONFIG_MAPS, Client, JSON};

const RECORDED: &str = include_str!("options.tsv");
/// A revision that no store reaches.
const FUTURE: &str = "999999999";

/// Returns the recorded queries of a verb with their responses.
fn recorded(verb: &str) -> Vec<(&'static str, &'static str)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let mut columns = line.splitn(3, '\t');
        let mut next = || columns.next().unwrap_or_else(|| panic!("three columns: {line}"));
        (next(), next(), next())
    });
    rows.filter(|row| row.0 == verb).map(|(_, query, response)| (query, response)).collect()
}

/// A server with the objects of the recording.
struct Past {
    client: Client,
    first: u64,
    last: u64,
    token: String,
}

impl Past {
    async fn start() -> Self {
        let client = Client::start().await;
        let first = version(&client.create_config_map("a", "x").await);
        client.create_config_map("b", "x").await;
        let last = version(&client.create_config_map("c", "x").await);
        let page = client.get(&format!("{CONFIG_MAPS}?limit=1"), JSON).await.json();
        let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
        Past { client, first, last, token }
    }

    /// Returns the path of a recorded query.
    fn path(&self, query: &str) -> String {
        let query = query.replace("{first}", &self.first.to_string()).replace("{token}", &self.token);
        format!("{CONFIG_MAPS}?{}", query.replace("{future}", FUTURE))
    }

    fn at(&self, object: &Value) -> String {
        match version(object) {
            version if version == self.first => "first".to_owned(),
            version if version >= self.last => "now".to_owned(),
            version => version.to_string(),
        }
    }

    async fn list(&self, query: &str) -> String {
        let response = self.client.get(&self.path(query), JSON).await;
        let list = response.json();
        if response.code != 200 {
            return failure(&list, response.header("retry-after"));
        }
        let names: Vec<_> = list["items"].as_array().unwrap().iter().map(name).collect();
        let remaining =
            list["metadata"]["remainingItemCount"].as_u64().map_or(String::new(), |n| format!(" +{n}"));
        let more = if list["metadata"]["continue"].is_string() { " more" } else { "" };
        format!("200 {} at {}{remaining}{more}", names.join(","), self.at(&list))
    }

    async fn open_watch(&self, query: &str) -> Response {
        // Limits the wait for a future revision.
        let end = if query.contains("{future}") { "&timeoutSeconds=1" } else { "" };
        let path = format!("{}&watch=1{end}", self.path(query));
        self.client.send_streaming("GET", &path, &[("accept", JSON)], "").await
    }

    async fn read_watch(&self, response: Response) -> String {
        let (parts, mut body) = response.into_parts();
        if parts.status != 200 {
            let status = body.collect().await.unwrap().to_bytes();
            let retry = parts.headers.get("retry-after").map_or("", |value| value.to_str().unwrap());
            return failure(&serde_json::from_slice(&status).unwrap(), retry);
        }
        let mut summary = "200".to_owned();
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            read.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
            while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                summary += &self.event(&event);
                if name(&event["object"]) == "z" {
                    return summary;
                }
            }
        }
        summary + " end"
    }

    fn event(&self, event: &Value) -> String {
        let object = &event["object"];
        match event["type"].as_str().unwrap() {
            "ADDED" => format!(" +{}", name(object)),
            "ERROR" => format!(" !{}", failure(object, "")),
            "BOOKMARK" if object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" => {
                format!(" ^{}", self.at(object))
            }
            // Other bookmarks arrive by time.
            "BOOKMARK" => String::new(),
            other => format!(" {other} {}", name(object)),
        }
    }
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("")
}

fn failure(status: &Value, retry_after: &str) -> String {
    let text = |field: &str| status[field].as_str().unwrap_or("").replace(FUTURE, "{future}");
    // The store's current revision is not recorded.
    let message = match text("message").split_once("current: ") {
        Some((prefix, _)) => format!("{prefix}current: {{now}}"),
        None => text("message"),
    };
    let retry = if retry_after.is_empty() { String::new() } else { format!(" retry={retry_after}") };
    format!("{} {} {message}{retry}", status["code"], text("reason"))
}

/// Fails with all responses that differ from the recording.
fn check(cases: &[(&str, &str)], responses: Vec<String>) {
    assert!(cases.len() > 50, "{} cases", cases.len());
    let differ: Vec<_> =
        cases.iter().zip(&responses).filter(|((_, expected), response)| expected != response).collect();
    assert!(differ.is_empty(), "{} of {} differ: {differ:#?}", differ.len(), cases.len());
}

#[tokio::test]
async fn lists_take_options_as_upstream_does() {
    let past = Past::start().await;
    let cases = recorded("list");
    let responses = join_all(cases.iter().map(|(query, _)| past.list(query))).await;
    check(&cases, responses);
}

#[tokio::test]
async fn watches_take_options_as_upstream_does() {
    let past = Past::start().await;
    let cases = recorded("watch");
    let watches = join_all(cases.iter().map(|(query, _)| past.open_watch(query))).await;
    past.client.create_config_map("z", "x").await;
    let responses = join_all(watches.into_iter().map(|watch| past.read_watch(watch))).await;
    check(&cases, responses);
}
