//! Tests of forks: complete servers with the same initial state and no further connection.

use std::path::Path;

use jsontree::json;
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

/// Returns an administrator client of the parent.
fn of_parent(parent: &Parent) -> Client {
    let running = parent.running.lock().unwrap();
    Client::at(running.address, &running.ca_certificates, TOKEN)
}

/// Returns an administrator client of a fork. It trusts the parent's CA.
fn of_fork(parent: &Parent, fork: &Fork) -> Client {
    Client::at(fork.running.address, &parent.running.lock().unwrap().ca_certificates, TOKEN)
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

/// Starts a parent with a CRD, one custom object, and a config map.
async fn parent(dir: &Path, forks_max: usize) -> Parent {
    let parent = Parent::start(config(dir), forks_max).await.unwrap();
    let admin = of_parent(&parent);
    admin.make(DEFINITIONS, definition()).await;
    admin.until_page_has("/apis/example.com/v1", "widgets").await;
    let mut widget = object("example.com/v1", "Widget", "seed");
    widget["spec"] = json!({});
    admin.make(WIDGETS, widget).await;
    admin.make(CONFIG_MAPS, object("v1", "ConfigMap", "seed")).await;
    parent
}

#[tokio::test]
async fn forks_share_initial_state_and_are_isolated() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let forks = [parent.fork().await.unwrap(), parent.fork().await.unwrap()];
    for (number, fork) in forks.iter().enumerate() {
        let admin = of_fork(&parent, fork);
        // The fork is ready, and everything is served.
        assert_eq!(names(&admin, WIDGETS).await, ["seed"]);
        assert_eq!(names(&admin, CONFIG_MAPS).await, ["seed"]);
        let name = format!("own-{number}");
        admin.make(WIDGETS, object("example.com/v1", "Widget", &name)).await;
        admin.make(CONFIG_MAPS, object("v1", "ConfigMap", &name)).await;
        assert_eq!(names(&admin, WIDGETS).await, [name.as_str(), "seed"]);
        assert_eq!(names(&admin, CONFIG_MAPS).await, [name.as_str(), "seed"]);
        assert!(fork.running.forkable().delegator.differences().await.unwrap().is_empty());
    }
    assert_eq!(names(&of_parent(&parent), WIDGETS).await, ["seed"]);
    let template = parent.template().await.unwrap();
    assert!(template.seed.is_some(), "nobody writes to the parent");
    for fork in forks {
        let address = fork.running.address;
        fork.end().await;
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
    parent.stop().await;
}

/// All servers have the same service account, with the same uid.
#[tokio::test]
async fn token_is_valid_only_for_its_server() {
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
    let dir = TestDir::new().unwrap();
    let parent = Parent::start(config(dir.path()), 10).await.unwrap();
    of_parent(&parent).make(ACCOUNTS, object("v1", "ServiceAccount", "robot")).await;
    let forks = [parent.fork().await.unwrap(), parent.fork().await.unwrap()];
    let servers = [of_parent(&parent), of_fork(&parent, &forks[0]), of_fork(&parent, &forks[1])];
    for (issuer, server) in servers.iter().enumerate() {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let response = server.ok("POST", &format!("{ACCOUNTS}/robot/token"), request).await;
        let token: &'static str = response["status"]["token"].as_str().unwrap().to_owned().leak();
        for (number, other) in servers.iter().enumerate() {
            let code = other.clone().with_token(token).text("GET", "/api").await.0;
            assert_eq!(code, if number == issuer { 200 } else { 401 }, "{issuer} {number}");
        }
    }
    for fork in forks {
        fork.end().await;
    }
    parent.stop().await;
}

#[tokio::test]
async fn crd_change_applies_only_to_its_fork() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let fork = parent.fork().await.unwrap();
    let admin = of_fork(&parent, &fork);
    assert_eq!(admin.text("DELETE", &format!("{DEFINITIONS}/widgets.example.com")).await.0, 200);
    admin.until_page_has(WIDGETS, "404 page not found").await;
    admin.make(DEFINITIONS, definition()).await;
    admin.until_page_has("/apis/example.com/v1", "widgets").await;
    assert_eq!(names(&admin, WIDGETS).await, Vec::<String>::new());
    assert_eq!(names(&of_parent(&parent), WIDGETS).await, ["seed"]);
    fork.end().await;
    parent.stop().await;
}

/// Returns the names of the objects in the first events of a watch.
fn seen(piece: &str) -> Vec<String> {
    let events = piece.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.map(|event| event["object"]["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn watches_see_only_their_own_fork() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let forks = [parent.fork().await.unwrap(), parent.fork().await.unwrap()];
    let admins = [of_fork(&parent, &forks[0]), of_fork(&parent, &forks[1]), of_parent(&parent)];
    for (path, of) in [(WIDGETS, ("example.com/v1", "Widget")), (CONFIG_MAPS, ("v1", "ConfigMap"))] {
        let mut watches = Vec::new();
        for admin in &admins {
            let (_, revision) = names_and_revision(admin, path).await;
            let path = format!("{path}?watch=1&resourceVersion={revision}");
            watches.push(async move { admin.first_piece("GET", &path, "").await });
        }
        // All forks are written to, the first one first. Each watch must return its own object first.
        let writes = async {
            for (number, admin) in admins.iter().enumerate() {
                admin.make(path, object(of.0, of.1, &format!("own-{number}"))).await;
            }
        };
        let (first, ()) = futures::join!(futures::future::join_all(watches), writes);
        for (number, piece) in first.iter().enumerate() {
            assert_eq!(seen(piece), [format!("own-{number}")], "{path}");
        }
    }
    for fork in forks {
        fork.end().await;
    }
    parent.stop().await;
}

async fn names_and_revision(client: &Client, path: &str) -> (Vec<String>, i64) {
    let revision = client.get(path).await["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    (names(client, path).await, revision)
}

#[tokio::test]
async fn fork_history_starts_at_fork_revision() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let (_, at_first) = names_and_revision(&of_parent(&parent), CONFIG_MAPS).await;
    of_parent(&parent).make(CONFIG_MAPS, object("v1", "ConfigMap", "second")).await;
    let fork = parent.fork().await.unwrap();
    let admin = of_fork(&parent, &fork);
    let (then, forked) = names_and_revision(&admin, CONFIG_MAPS).await;
    assert!(forked > at_first);
    // Only the parent has the earlier history.
    let exact =
        |revision: i64| format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(names(&of_parent(&parent), &exact(at_first)).await, ["seed"]);
    let (code, status) = admin.send("GET", &exact(at_first), Value::Null).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    // Later writes belong to the fork, with revisions that continue from there.
    admin.make(CONFIG_MAPS, object("v1", "ConfigMap", "third")).await;
    let (now, later) = names_and_revision(&admin, CONFIG_MAPS).await;
    assert!(later > forked);
    assert_eq!(now, ["second", "seed", "third"]);
    assert_eq!(names(&admin, &exact(forked)).await, then);
    fork.end().await;
    parent.stop().await;
}

#[tokio::test]
async fn ended_fork_releases_everything() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let runtime = tokio::runtime::Handle::current().metrics();
    let rest = async |parent: &Parent| {
        let fork = parent.fork().await.unwrap();
        let admin = of_fork(parent, &fork);
        admin.make(CONFIG_MAPS, object("v1", "ConfigMap", "own")).await;
        // An unread watch does not keep the fork alive.
        let _watch = admin.response("GET", &format!("{CONFIG_MAPS}?watch=1")).await;
        let address = fork.running.address;
        let store = Arc::downgrade(fork.running.storage());
        fork.end().await;
        assert!(tokio::net::TcpStream::connect(address).await.is_err(), "its port is free");
        store
    };
    rest(&parent).await;
    let template = parent.template().await.unwrap();
    let tasks = runtime.num_alive_tasks();
    let shares = Arc::strong_count(&template);
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(rest(&parent).await);
    }
    let released = async {
        while stores.iter().any(|store| store.strong_count() > 0)
            || runtime.num_alive_tasks() > tasks
            || Arc::strong_count(&template) > shares
        {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = timeout(SHUTDOWN_TIMEOUT, released).await;
    let remaining: Vec<_> = stores.iter().map(std::sync::Weak::strong_count).collect();
    assert!(ended.is_ok(), "{remaining:?} stores, {} tasks of {tasks}", runtime.num_alive_tasks());
    parent.stop().await;
}

#[tokio::test]
async fn fork_under_concurrent_writes_is_consistent() {
    let dir = TestDir::new().unwrap();
    let parent = parent(dir.path(), 10).await;
    let stop = CancellationToken::new();
    let writing = async {
        let admin = of_parent(&parent);
        for number in 0.. {
            if stop.is_cancelled() {
                return;
            }
            let name = format!("written-{number:05}");
            admin.make(CONFIG_MAPS, object("v1", "ConfigMap", &name)).await;
        }
    };
    let forking = async {
        for _ in 0..5 {
            let fork = parent.fork().await.unwrap();
            let admin = of_fork(&parent, &fork);
            let found = names(&admin, CONFIG_MAPS).await;
            // Writes were sequential, so there are no gaps.
            let written = found.iter().filter(|name| name.starts_with("written-"));
            assert!(written.enumerate().all(|(at, name)| *name == format!("written-{at:05}")), "{found:?}");
            admin.make(WIDGETS, object("example.com/v1", "Widget", "own")).await;
            assert!(fork.running.forkable().delegator.differences().await.unwrap().is_empty());
            fork.end().await;
        }
        stop.cancel();
    };
    futures::join!(writing, forking);
    parent.stop().await;
}

/// Sends a command over the socket. Returns the connection and the response.
async fn request(path: &Path, command: &str) -> (BufReader<UnixStream>, Value) {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    (stream, serde_json::from_str(&line).unwrap())
}

fn server_of(response: &Value) -> String {
    let kubeconfig: Value = serde_json::from_str(response["kubeconfig"].as_str().unwrap()).unwrap();
    kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn fork_ends_with_connection_and_count_is_limited() {
    let dir = TestDir::new().unwrap();
    let parent = Arc::new(parent(dir.path(), 1).await);
    let path = dir.path().join("socket");
    let stop = CancellationToken::new();
    let listen = Listen::Unix(path.clone());
    let (sender, listening) = tokio::sync::oneshot::channel();
    let of_server = Arc::clone(&parent);
    let until = stop.clone();
    let serving = tokio::spawn(async move {
        serve(of_server, &listen, until, |place| _ = sender.send(place.to_owned())).await
    });
    assert_eq!(listening.await.unwrap(), format!("unix:{}", path.display()));
    let (connection, response) = request(&path, "fork").await;
    let server = server_of(&response);
    assert_ne!(server, server_of(&request(&path, "parent").await.1));
    let (_, full) = request(&path, "fork").await;
    assert_eq!(full, json!({"error": "there are as many forks as there may be"}));
    assert!(request(&path, "GET / HTTP/1.1").await.1["error"].is_string());
    drop(connection);
    let again = async {
        loop {
            let (connection, response) = request(&path, "fork").await;
            if response["kubeconfig"].is_string() {
                return (connection, response);
            }
        }
    };
    let (_connection, response) = tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
    assert_ne!(server_of(&response), server);
    stop.cancel();
    serving.await.unwrap().unwrap();
    assert!(!path.exists());
}
