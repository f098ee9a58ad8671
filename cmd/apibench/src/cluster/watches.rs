//! Watches of kubelets, kube-proxies, controllers and operators. They start at the current revision without
//! the existing objects, because cluster startup is not measured.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::task::JoinSet;

use super::bodies::{self, GROUP};
use super::kind::Class;
use super::mark::Finder;
use super::world::{Node, Sender, SimulatedCluster};
use crate::check::{self, MAX_BODY};
use crate::client::{Call, JSON};
use crate::error::{Error, Result};
use crate::setup::METADATA_LIST;

/// Maximum number of watches being opened concurrently.
const LANES: usize = 48;
/// Pause before a watch is reopened.
const PAUSE: Duration = Duration::from_secs(1);
/// Media type of watches in protobuf.
const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// A watch to open.
struct WatchRequest {
    from: Sender,
    path: String,
    accept: &'static str,
    /// True if events and their latency are measured: every relevant write carries a unique mark.
    measured: bool,
}

/// The open watches.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    tasks: JoinSet<()>,
    /// Number of opened watches.
    pub(crate) count: u64,
}

impl Watches {
    /// Opens the watches of the control plane and of operators.
    pub(crate) async fn open_control(&mut self, world: &Arc<SimulatedCluster>) -> Result<()> {
        let mut requests = Vec::new();
        let mut add = |path: &str, accept, measured| {
            let from = Sender::Control(requests.len() as u64);
            requests.push(WatchRequest { from, path: format!("{path}?"), accept, measured });
        };
        // The scheduler, the controller manager and an observer.
        for _ in 0..3 {
            add("/api/v1/pods", PROTOBUF_WATCH, false);
            add("/api/v1/nodes", PROTOBUF_WATCH, true);
        }
        for path in ["/apis/apps/v1/replicasets", "/apis/discovery.k8s.io/v1/endpointslices"] {
            add(path, PROTOBUF_WATCH, false);
        }
        for _ in 0..world.plan.operators {
            add(&format!("/apis/{GROUP}/v1/widgets"), JSON, true);
        }
        self.open(world, requests).await
    }

    /// Opens the watches of a kubelet and a kube-proxy on each of `nodes`.
    pub(crate) async fn open_nodes(
        &mut self,
        world: &Arc<SimulatedCluster>,
        nodes: &[Arc<Node>],
    ) -> Result<()> {
        let requests = nodes.iter().flat_map(|node| of_node(world, node)).collect();
        self.open(world, requests).await
    }

    async fn open(&mut self, world: &Arc<SimulatedCluster>, requests: Vec<WatchRequest>) -> Result<()> {
        let revision = Arc::new(now(world).await?);
        self.count += requests.len() as u64;
        let opened = stream::iter(requests).map(|request| {
            let world = Arc::clone(world);
            let revision = Arc::clone(&revision);
            async move {
                let body = begin(&world, &request, &revision).await?;
                Ok::<_, Error>((world, request, body))
            }
        });
        let mut opened = opened.buffer_unordered(LANES);
        while let Some((world, request, body)) = opened.try_next().await? {
            self.tasks.spawn(follow(world, request, body));
        }
        Ok(())
    }
}

fn of_node(world: &SimulatedCluster, node: &Node) -> Vec<WatchRequest> {
    let namespace = world.plan.namespace_of(node.number * world.plan.pods_per_node);
    let name = &node.name;
    let namespace = bodies::namespace_name(namespace);
    let by_name = |resource, name| {
        format!("/api/v1/namespaces/{namespace}/{resource}?fieldSelector=metadata.name%3D{name}&")
    };
    let paths = [
        (format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{name}&"), true),
        (format!("/api/v1/nodes?fieldSelector=metadata.name%3D{name}&"), true),
        ("/api/v1/services?".to_owned(), false),
        (by_name("configmaps", "app"), false),
        (by_name("secrets", "token"), false),
        // The kube-proxy's.
        ("/api/v1/services?".to_owned(), false),
        ("/apis/discovery.k8s.io/v1/endpointslices?".to_owned(), true),
    ];
    let from = Sender::Node(node.number);
    paths
        .into_iter()
        .map(|(path, measured)| WatchRequest { from, path, accept: PROTOBUF_WATCH, measured })
        .collect()
}

/// Returns the current resource version.
async fn now(world: &SimulatedCluster) -> Result<String> {
    let call = Call::get("/api/v1/namespaces?limit=1").accept(METADATA_LIST);
    let response = world.control().call(0, call, MAX_BODY).await?.expect(200)?;
    Ok(check::json_list(&response)?.0.resource_version)
}

async fn begin(world: &SimulatedCluster, request: &WatchRequest, revision: &str) -> Result<Incoming> {
    let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds=86400&resourceVersion={revision}");
    let call = Call::get(format!("{}{query}", request.path)).accept(request.accept);
    let response = match request.from {
        Sender::Node(node) => world.client(node)?.start(0, call).await?,
        Sender::Control(lane) => world.control().start(lane as usize, call).await?,
    };
    match response.status().as_u16() {
        200 => Ok(response.into_body()),
        status => Err(Error::Wrong(format!("watch {}: {status}", request.path))),
    }
}

/// Reads a watch until the run ends, and reopens it if it closes.
async fn follow(world: Arc<SimulatedCluster>, request: WatchRequest, body: Incoming) {
    let mut body = Some(body);
    loop {
        if let Some(body) = body.take() {
            read(&world, &request, body).await;
            world.window().watches_lost.fetch_add(1, Relaxed);
        }
        tokio::time::sleep(PAUSE).await;
        let Ok(revision) = now(&world).await else { continue };
        body = begin(&world, &request, &revision).await.ok();
    }
}

async fn read(world: &SimulatedCluster, request: &WatchRequest, mut body: Incoming) {
    let mut finder = Finder::default();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        let window = world.window();
        window.event_bytes.fetch_add(data.len() as u64, Relaxed);
        if !request.measured {
            continue;
        }
        finder.push(data, |at| {
            let due = world.start + at;
            if window.holds(due) {
                window.class(Class::Event).add(due.elapsed());
            }
        });
    }
}
