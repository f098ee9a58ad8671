//! Measurement of operations on one server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use controlplane::test_cluster::TestServer;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::client::{Call, Connection, OPERATOR, UNPRIVILEGED};
use crate::counter::Allocations;
use crate::operations::{self, Fixtures, Operation};
use crate::realistic::gadget_definition;
use crate::stages;

/// Repetitions that fill caches, label sets and buffers.
const WARM_UP: usize = 2;
/// Measured repetitions.
const REPETITIONS: usize = 7;
/// Turns of the runtime without an allocation after which the server is idle.
const IDLE_TURNS: usize = 32;
/// Watchers of the same object, each with its own connection.
const WATCHERS: usize = 10;
/// Maximum time until a permission or a definition takes effect.
const EFFECT_MAX: Duration = Duration::from_secs(60);

/// A server with a connection.
pub(crate) struct Server {
    server: TestServer,
    connection: Connection,
}

impl Server {
    /// Starts a server whose operator has its permissions by RBAC. Administrators by group would bypass flow control and
    /// RBAC.
    pub(crate) async fn start() -> Self {
        let server = TestServer::start_with(|config| {
            let tokens = config.serving.cert_dir.join("users.csv");
            let lines = format!(
                "admin-token,admin,1,\"system:masters\"\n{OPERATOR},operator,2\n{UNPRIVILEGED},nobody,3\n"
            );
            std::fs::write(&tokens, lines).unwrap();
            config.authentication.token_file = Some(tokens);
        });
        let server = server.await.unwrap();
        let connection = Connection::open(&server).await;
        Server { server, connection }
    }

    /// Creates the objects that the operations expect.
    pub(crate) async fn prepare(&self) -> Fixtures {
        let binding = json!({
            "metadata": {"name": "operator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}],
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        self.connection.ok(&Call::post(bindings, &binding).token("admin-token")).await;
        self.until_ok(&Call::get(operations::PODS)).await;
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        self.connection.ok(&Call::post(definitions, &gadget_definition())).await;
        self.until_ok(&Call::get(operations::GADGETS)).await;
        for call in operations::fixtures() {
            self.connection.ok(&call).await;
        }
        let token = self.connection.ok(&operations::token_request()).await.json();
        Fixtures { token: token["status"]["token"].as_str().unwrap().to_owned() }
    }

    /// Repeats a call until it succeeds, because permissions and definitions take effect with their watch event.
    async fn until_ok(&self, call: &Call) {
        let succeeded = async {
            while self.connection.send(call).await.code != 200 {
                yield_now().await;
            }
        };
        timeout(EFFECT_MAX, succeeded).await.unwrap();
    }

    /// Sends the preparing calls of a repetition and returns its measured call.
    async fn next_call(&self, operation: &Operation, repetition: usize) -> Call {
        for call in (operation.prepare)(repetition) {
            self.connection.ok(&call).await;
        }
        let current = match &operation.read {
            Some(target) => self.connection.ok(&Call::get(target)).await.json(),
            None => Value::Null,
        };
        let call = (operation.call)(repetition, current);
        settle().await;
        call
    }

    /// Returns the fewest allocations of an operation, from its request until the server is idle.
    pub(crate) async fn measure(&self, operation: &Operation) -> Allocations {
        let mut all = Vec::new();
        for repetition in 0..WARM_UP + REPETITIONS {
            let call = self.next_call(operation, repetition).await;
            let before = Allocations::now();
            let received = self.connection.send(&call).await;
            settle().await;
            all.push(Allocations::now() - before);
            let text = String::from_utf8_lossy(&received.body);
            assert_eq!(received.code, operation.code, "{}: {text}", operation.name);
        }
        minimum(&all[WARM_UP..])
    }

    /// Returns the allocations of the stages of an operation after the handler chain.
    pub(crate) async fn measure_stages(&self, operation: &Operation) -> BTreeMap<String, Allocations> {
        if operation.code >= 400 {
            return BTreeMap::new();
        }
        // A first run creates what only traced requests need.
        let call = self.next_call(operation, WARM_UP + REPETITIONS).await;
        stages::of(&self.server, &call).await;
        let call = self.next_call(operation, WARM_UP + REPETITIONS + 1).await;
        stages::of(&self.server, &call).await
    }

    /// Returns the fewest allocations of a patch of a pod and of its events to all watchers.
    pub(crate) async fn measure_watch(&self) -> Allocations {
        let events = Arc::<AtomicUsize>::default();
        for _ in 0..WATCHERS {
            let connection = Connection::open(&self.server).await;
            connection.watch(&operations::watch(), Arc::clone(&events)).await;
        }
        settle().await;
        let initial = events.load(Relaxed);
        let mut all = Vec::new();
        for repetition in 0..WARM_UP + REPETITIONS {
            let call = operations::watched_change(repetition);
            settle().await;
            let before = Allocations::now();
            self.connection.ok(&call).await;
            while events.load(Relaxed) < initial + (repetition + 1) * WATCHERS {
                yield_now().await;
            }
            settle().await;
            all.push(Allocations::now() - before);
        }
        assert_eq!(events.load(Relaxed), initial + (WARM_UP + REPETITIONS) * WATCHERS);
        minimum(&all[WARM_UP..])
    }
}

/// Waits until no task has allocated for some turns of the runtime. Each turn runs all ready tasks and polls the sockets.
async fn settle() {
    let mut last = Allocations::now();
    let mut idle_turns = 0;
    while idle_turns < IDLE_TURNS {
        yield_now().await;
        let now = Allocations::now();
        idle_turns = if now == last { idle_turns + 1 } else { 0 };
        last = now;
    }
}

/// Returns the minimum of both numbers. Timers, growing tables and full sockets only add allocations.
fn minimum(all: &[Allocations]) -> Allocations {
    let least = |number: fn(&Allocations) -> usize| all.iter().map(number).min().unwrap();
    Allocations { count: least(|it| it.count), bytes: least(|it| it.bytes) }
}
