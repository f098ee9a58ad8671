//! State of the simulated cluster: nodes, connections, and the current counters.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::kind::Kind;
use super::plan::Plan;
use super::window::Window;
use crate::client::{Answer, Call, Client, Windows};
use crate::error::{Error, Result};
use crate::target::Target;

/// Media type of protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// Media type of strategic merge patches.
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Media type of merge patches.
pub(crate) const MERGE: &str = "application/merge-patch+json";
/// Media type of the Tables that kubectl requests.
pub(crate) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// Request timeout.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// Shared TCP connections of the scheduler, controllers, operators and users.
const CONTROL: u64 = 8;

/// A running pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pod {
    pub(crate) number: u64,
    /// Number of its namespace.
    pub(crate) namespace: u64,
}

/// A node with the state of its kubelet.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) number: u64,
    pub(crate) name: String,
    /// Resource version of its lease; locked during a renewal.
    pub(crate) lease: tokio::sync::Mutex<Option<String>>,
    pods: Mutex<VecDeque<Pod>>,
}

impl Node {
    pub(crate) fn new(number: u64) -> Self {
        let name = super::bodies::node_name(number);
        Self { number, name, lease: tokio::sync::Mutex::new(None), pods: Mutex::default() }
    }

    /// Removes and returns the oldest pod.
    pub(crate) fn oldest(&self) -> Option<Pod> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn some(&self) -> Option<Pod> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner).back().copied()
    }

    /// Adds a running pod.
    pub(crate) fn add(&self, pod: Pod) {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner).push_back(pod);
    }
}

/// One server and the cluster simulated against it.
#[derive(Debug)]
pub(crate) struct SimulatedCluster {
    pub(crate) target: Arc<Target>,
    pub(crate) plan: Plan,
    /// Start of the run; marks count from here.
    pub(crate) start: Instant,
    /// Number of the next replacement pod.
    pub(crate) next_pod: AtomicU64,
    nodes: RwLock<Arc<Vec<Arc<Node>>>>,
    node_clients: RwLock<Vec<Arc<Client>>>,
    control: Client,
    window: RwLock<Arc<Window>>,
}

impl SimulatedCluster {
    /// Creates an empty cluster on `target`.
    pub(crate) async fn new(target: &Arc<Target>, plan: &Plan) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            target: Arc::clone(target),
            plan: plan.clone(),
            start: now,
            next_pod: AtomicU64::new(plan.max_nodes * plan.pods_per_node),
            nodes: RwLock::default(),
            node_clients: RwLock::default(),
            control: Client::connect(target, CONTROL, Windows::LARGE, TIMEOUT).await?,
            window: RwLock::new(Arc::new(Window::new(now, now))),
        })
    }

    /// Returns the present nodes.
    pub(crate) fn nodes(&self) -> Arc<Vec<Arc<Node>>> {
        Arc::clone(&self.nodes.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add_nodes(&self, more: Vec<Arc<Node>>) {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        *nodes = Arc::new(nodes.iter().cloned().chain(more).collect());
    }

    /// Returns the current counters.
    pub(crate) fn window(&self) -> Arc<Window> {
        Arc::clone(&self.window.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes `window` the current counters.
    pub(crate) fn measure(&self, window: &Arc<Window>) {
        *self.window.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(window);
    }

    /// Opens connections until there are enough for `nodes`.
    pub(crate) async fn connect(&self, nodes: u64) -> Result<()> {
        let count = usize::try_from(nodes.min(self.plan.node_connections)).unwrap_or(1);
        while self.node_clients.read().unwrap_or_else(PoisonError::into_inner).len() < count {
            let client = Client::connect(&self.target, 1, Windows::LARGE, TIMEOUT).await?;
            self.node_clients.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(client));
        }
        Ok(())
    }

    /// Returns the connection of a node.
    pub(crate) fn client(&self, node: u64) -> Result<Arc<Client>> {
        let clients = self.node_clients.read().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(node).unwrap_or(0) % clients.len().max(1);
        clients.get(at).cloned().ok_or_else(|| Error::Wrong("no connection".to_owned()))
    }

    /// Returns the connections of all other clients.
    pub(crate) fn control(&self) -> &Client {
        &self.control
    }

    /// Returns an unused pod number.
    pub(crate) fn new_pod(&self) -> u64 {
        self.next_pod.fetch_add(1, Relaxed)
    }

    /// Sends a request that was due at `due` and counts the result. A response with a status other than 2xx
    /// is an error.
    pub(crate) async fn call(
        &self,
        from: Sender,
        kind: Kind,
        due: Instant,
        call: Call,
        keep: usize,
    ) -> Option<Answer> {
        let window = Some(self.window()).filter(|window| window.holds(due));
        if let Some(window) = &window {
            window.of(kind).started.fetch_add(1, Relaxed);
        }
        let result = match from {
            Sender::Node(node) => match self.client(node) {
                Ok(client) => client.call(0, call, keep).await,
                Err(error) => Err(error),
            },
            Sender::Control(lane) => self.control.call(usize::try_from(lane).unwrap_or(0), call, keep).await,
        };
        let result = result.and_then(|response| match response.status {
            200..300 => Ok(response),
            _ => Err(response.wrong("refused")),
        });
        let (response, error) = match result {
            Ok(response) => (Some(response), None),
            Err(error) => (None, Some(printable(&error.to_string()))),
        };
        if let Some(window) = window {
            window.ended(kind, due.elapsed(), error);
        }
        response
    }
}

/// Sender of a request, which determines the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    Node(u64),
    /// The scheduler, a controller, an operator or a user; the number selects a connection.
    Control(u64),
}

/// Extracts the readable text of an error, which may be protobuf.
fn printable(text: &str) -> String {
    text.split(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER).collect::<Vec<_>>().join(" ")
}

/// Returns seconds and nanoseconds since 1970.
pub(crate) fn unix_time() -> (u64, u64) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (time.as_secs(), u64::from(time.subsec_nanos()))
}

/// Returns the current time in Kubernetes' format, with second precision.
pub(crate) fn rfc3339() -> String {
    let seconds = unix_time().0;
    let days = seconds / 86_400;
    let second = seconds % 86_400;
    let (year, month, day) = civil(days);
    let hour = second / 3600;
    let minute = second / 60 % 60;
    let second = second % 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the date `days` after 1970-01-01. The computation uses eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates_are_correct() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_454), (2026, 1, 1));
    }

    #[test]
    fn pods_leave_a_node_in_fifo_order() {
        let node = Node::new(7);
        assert!(node.oldest().is_none());
        for number in [1, 2] {
            node.add(Pod { number, namespace: 0 });
        }
        assert_eq!((node.some().unwrap().number, node.oldest().unwrap().number), (2, 1));
        assert_eq!(node.name, "node-00007");
    }
}
