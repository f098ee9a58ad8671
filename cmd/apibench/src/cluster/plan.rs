//! Options of `apibench cluster`: size, growth and load of the cluster.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

/// Pods of one namespace; each namespace has a Service, a ReplicaSet, a ConfigMap and a Secret.
pub(crate) const PODS_PER_NAMESPACE: u64 = 200;

/// Simulates clusters of growing size against each server in turn, until an SLO is violated.
///
/// Give each server its own empty store: objects are created as the cluster grows, and stay.
#[derive(clap::Args, Debug, Clone, Serialize)]
pub(crate) struct Plan {
    /// Nodes in the first step.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) nodes: u64,
    /// Nodes in the first step of one server, instead of `--nodes`, to skip steps far below its capacity.
    /// Repeatable.
    #[arg(long, value_name = "NAME=NODES", value_parser = nodes_of)]
    pub(crate) nodes_of: Vec<(String, u64)>,
    /// Pods per node.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=500))]
    pub(crate) pods_per_node: u64,
    /// Growth factor of the node count per step.
    #[arg(long, default_value_t = 1.5)]
    pub(crate) growth: f64,
    /// Maximum number of nodes.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) max_nodes: u64,
    /// Measured time of a step in seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) step_seconds: u64,
    /// Warm-up under load before each measurement, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=600))]
    pub(crate) settle_seconds: u64,
    /// Pods replaced per second per 1,000 nodes.
    #[arg(long, default_value_t = 10.0)]
    pub(crate) churn: f64,
    /// EndpointSlice writes per second, regardless of the cluster size; every kube-proxy watches them.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) endpoint_changes: f64,
    /// Operators with an informer on all custom resources.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) operators: u64,
    /// Maximum number of TCP connections of nodes; beyond it nodes share them.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    pub(crate) node_connections: u64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Time limit in seconds for all steps of one server.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time_limit: u64,
    /// Output file of the report.
    #[arg(long, value_name = "FILE", default_value = "cluster.html")]
    pub(crate) report: PathBuf,
}

impl Plan {
    /// Returns the node counts of a server's steps, ascending; the last one is at most [`Self::max_nodes`].
    pub(crate) fn sizes(&self, server: &str) -> Vec<u64> {
        let growth = self.growth.clamp(1.05, 100.0);
        let mut sizes = Vec::new();
        let override_nodes = self.nodes_of.iter().find(|(name, _)| name == server);
        let mut nodes = override_nodes.map_or(self.nodes, |(_, nodes)| *nodes).min(self.max_nodes);
        loop {
            sizes.push(nodes);
            if nodes >= self.max_nodes {
                return sizes;
            }
            nodes = ((nodes as f64 * growth).round() as u64).clamp(nodes + 1, self.max_nodes);
        }
    }

    /// Returns the namespace of pod number `pod`.
    pub(crate) fn namespace_of(&self, pod: u64) -> u64 {
        pod / PODS_PER_NAMESPACE
    }

    /// Returns the number of namespaces with pods of `nodes`.
    pub(crate) fn namespaces(&self, nodes: u64) -> u64 {
        (nodes * self.pods_per_node).div_ceil(PODS_PER_NAMESPACE)
    }

    /// Returns the measured time of a step.
    pub(crate) fn step(&self) -> Duration {
        Duration::from_secs(self.step_seconds)
    }

    /// Returns the warm-up time.
    pub(crate) fn settle(&self) -> Duration {
        Duration::from_secs(self.settle_seconds)
    }
}

/// Error of a number of nodes.
#[derive(Debug, Clone, thiserror::Error)]
enum NodesError {
    #[error("NAME=NODES is wanted")]
    NoPair,
    #[error("1 to 100000 nodes are wanted")]
    Number,
}

fn nodes_of(text: &str) -> Result<(String, u64), NodesError> {
    let (name, nodes) = text.split_once('=').ok_or(NodesError::NoPair)?;
    let nodes = nodes.parse().ok().filter(|nodes| (1..=100_000).contains(nodes));
    Ok((name.to_owned(), nodes.ok_or(NodesError::Number)?))
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        plan: Plan,
    }

    pub(crate) fn plan(line: &[&str]) -> Plan {
        Line::try_parse_from(["x"].iter().chain(line)).unwrap().plan
    }

    #[test]
    fn steps_grow_up_to_the_last() {
        let check = |line: &[&str], expected: &[u64]| assert_eq!(plan(line).sizes("a"), expected, "{line:?}");
        check(&["--nodes", "100", "--max-nodes", "300"], &[100, 150, 225, 300]);
        check(&["--nodes", "1", "--growth", "0", "--max-nodes", "3"], &[1, 2, 3]);
        check(&["--nodes", "9", "--max-nodes", "3"], &[3]);
        check(&["--max-nodes", "300", "--nodes-of", "b=7", "--nodes-of", "a=200"], &[200, 300]);
        for wrong in ["a", "a=", "a=0", "a=-1"] {
            assert!(Line::try_parse_from(["x", "--nodes-of", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn namespaces_hold_a_bounded_number_of_pods() {
        let plan = plan(&["--pods-per-node", "30"]);
        assert_eq!((plan.namespaces(1), plan.namespaces(7), plan.namespaces(20)), (1, 2, 3));
        assert_eq!((plan.namespace_of(199), plan.namespace_of(200)), (0, 1));
    }
}
