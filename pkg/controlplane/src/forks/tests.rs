//! Claims about forks: whole servers that begin alike and know nothing of each other.

use std::path::Path;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::test_client::Client;
use crate::test_cluster::TestDir;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TOKEN: &str = "admin-token";

fn config(dir: &Path) -> Config {
    let tokens = dir.join("tokens.csv");
    std::fs::write(&tokens, format!("{TOKEN},admin,1,\"system:masters\"\n")).unwrap();
    let mut config = Config::for_tests(dir.to_owned());
    config.authentication.token_file = Some(tokens);
    config
}

fn client(running: &Running) -> Client {
    Client::at(running.address, &running.trust, TOKEN)
}

fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let names =
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    let spec = json!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": spec})
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

async fn names(client: &Client, path: &str) -> Vec<String> {
    let list = client.get(path).await;
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// A parent with a definition, an object of it, and a config map.
async fn parent(dir: &Path, forks_max: usize) -> Parent {
    let parent = Parent::start(config(dir), forks_max).await.unwrap();
    let admin = client(&parent.running.lock().unwrap());
    admin.make(DEFINITIONS, definition()).await;
    admin.until_page_has("/apis/example.com/v1", "widgets").await;
    let mut widget = object("example.com/v1", "Widget", "seed");
    widget["spec"] = json!({});
    admin.make(WIDGETS, widget).await;
    admin.make(CONFIG_MAPS, object("v1", "ConfigMap", "seed")).await;
    parent
}

#[tokio::test]
async fn forks_begin_alike_and_know_nothing_of_each_other() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let forks = [parent.fork().await.unwrap(), parent.fork().await.unwrap()];
    for (number, fork) in forks.iter().enumerate() {
        let admin = client(&fork.running);
        // It is ready, and everything is served.
        assert_eq!(names(&admin, WIDGETS).await, ["seed"]);
        assert_eq!(names(&admin, CONFIG_MAPS).await, ["seed"]);
        let own = format!("own-{number}");
        admin.make(WIDGETS, object("example.com/v1", "Widget", &own)).await;
        admin.make(CONFIG_MAPS, object("v1", "ConfigMap", &own)).await;
        assert_eq!(names(&admin, WIDGETS).await, [own.as_str(), "seed"]);
        assert_eq!(names(&admin, CONFIG_MAPS).await, [own.as_str(), "seed"]);
        assert!(fork.running.forkable().delegator.differences().await.unwrap().is_empty());
    }
    assert_eq!(names(&client(&parent.running.lock().unwrap()), WIDGETS).await, ["seed"]);
    let template = parent.template().await;
    assert!(template.seed.is_some(), "nobody writes to the parent");
    for fork in forks {
        let address = fork.running.address;
        fork.end().await;
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
    parent.stop().await;
}

#[tokio::test]
async fn a_definition_that_a_fork_changes_is_served_as_it_is_there() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let fork = parent.fork().await.unwrap();
    let admin = client(&fork.running);
    assert_eq!(admin.text("DELETE", &format!("{DEFINITIONS}/widgets.example.com")).await.0, 200);
    admin.eventually(WIDGETS, 404).await;
    admin.make(DEFINITIONS, definition()).await;
    admin.until_page_has("/apis/example.com/v1", "widgets").await;
    assert_eq!(names(&admin, WIDGETS).await, Vec::<String>::new());
    assert_eq!(names(&client(&parent.running.lock().unwrap()), WIDGETS).await, ["seed"]);
    fork.end().await;
    parent.stop().await;
}

/// Asks for something over the socket; the connection, and what was said.
async fn ask(path: &Path, word: &str) -> (BufReader<UnixStream>, Value) {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(format!("{word}\n").as_bytes()).await.unwrap();
    let (mut stream, mut line) = (BufReader::new(stream), String::new());
    stream.read_line(&mut line).await.unwrap();
    (stream, serde_json::from_str(&line).unwrap())
}

fn server_of(answer: &Value) -> String {
    let kubeconfig: Value = serde_json::from_str(answer["kubeconfig"].as_str().unwrap()).unwrap();
    kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_fork_lives_as_long_as_its_connection_and_there_are_no_more_than_may_be() {
    let dir = TestDir::new().unwrap();
    let parent = Arc::new(parent(dir.path(), 1).await);
    let (path, stop) = (dir.path().join("socket"), CancellationToken::new());
    let listen = Listen::Unix(path.clone());
    let (told, listening) = tokio::sync::oneshot::channel();
    let (of_server, until) = (Arc::clone(&parent), stop.clone());
    let serving = tokio::spawn(async move {
        serve(of_server, &listen, until, |place| _ = told.send(place.to_owned())).await
    });
    assert_eq!(listening.await.unwrap(), format!("unix:{}", path.display()));
    let (connection, answer) = ask(&path, "fork").await;
    let server = server_of(&answer);
    assert_ne!(server, server_of(&ask(&path, "parent").await.1));
    let (_, full) = ask(&path, "fork").await;
    assert_eq!(full, json!({"error": "there are as many forks as there may be"}));
    assert!(ask(&path, "GET / HTTP/1.1").await.1["error"].is_string());
    drop(connection);
    let again = async {
        loop {
            let (connection, answer) = ask(&path, "fork").await;
            if answer["kubeconfig"].is_string() {
                return (connection, answer);
            }
        }
    };
    let (_connection, answer) = tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
    assert_ne!(server_of(&answer), server);
    stop.cancel();
    serving.await.unwrap().unwrap();
    assert!(!path.exists());
}
