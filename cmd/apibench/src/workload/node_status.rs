//! Heartbeats of large nodes.

use std::sync::Arc;

use async_trait::async_trait;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload};
use crate::check::MAX_BODY;
use crate::client::{Call, Client};
use crate::error::Result;
use crate::realistic::{self, STRATEGIC};
use crate::setup;

const NODES: &str = "/api/v1/nodes";
/// Number of nodes that report in turn.
const COUNT: u64 = 50;

/// Returns the workloads on nodes.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![ClosedLoop::of(NodeStatus)]
}

fn name(i: u64) -> String {
    format!("apibench-node-{}", i % COUNT)
}

/// Returns the report of request `i`. It differs from the previous report of the same node.
fn report(i: u64) -> Call {
    let seconds = i / COUNT;
    let time = format!("2026-01-02T{:02}:{:02}:{:02}Z", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let status = realistic::node_status(&time);
    let heartbeat = serde_json::json!({"status": {"conditions": status["conditions"]}});
    let path = format!("{NODES}/{}/status?fieldManager=kubelet", name(i));
    Call::send(http::Method::PATCH, path, STRATEGIC, heartbeat.to_string())
}

struct NodeStatus;

#[async_trait]
impl Operation for NodeStatus {
    fn name(&self) -> &'static str {
        "node-status"
    }

    fn about(&self) -> &'static str {
        "strategic merge patch of the conditions of a node of 50 KB, as kubelets send it"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        remove(client).await?;
        let calls = |i| {
            let writes = realistic::node(&name(i));
            writes.iter().map(|write| Call::of_manager(write, NODES, &name(i))).collect()
        };
        setup::create_with(client, COUNT, context.settings.concurrency, calls).await
    }

    async fn verify(&self, _: &Context, client: &Client) -> Result<u64> {
        let response = client.call(0, report(u64::from(u32::MAX)), MAX_BODY).await?.expect(200)?;
        match memchr::memmem::find(&response.head, b"KubeletHasSufficientMemory") {
            Some(_) => Ok(response.bytes / 2),
            None => Err(response.wrong("the conditions are missing")),
        }
    }

    async fn run(&self, _: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        Ok(Some(client.call(lane, report(i), 0).await?.expect(200)?.bytes))
    }

    async fn verify_after(&self, context: &Context, client: &Client, _: u64) -> Result<()> {
        self.verify(context, client).await?;
        remove(client).await
    }
}

/// Deletes the nodes of this and of an interrupted run.
async fn remove(client: &Client) -> Result<()> {
    for i in 0..COUNT {
        let response = client.call(0, Call::delete(format!("{NODES}/{}", name(i))), 0).await?;
        if response.status != 404 {
            response.expect(200)?;
        }
    }
    Ok(())
}
