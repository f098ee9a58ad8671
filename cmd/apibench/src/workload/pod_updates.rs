//! PUTs of whole pods, as clients without patches send them.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use http::Method;
use serde_json::{Value, json};

use super::closed_loop::{ClosedLoop, Operation};
use super::objects::pod_path;
use super::{Context, Workload};
use crate::check::MAX_BODY;
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};

/// Number of pods that are updated in turn.
const PODS: u64 = 100;
/// Place of the changing value in a body.
const MARK: &str = "apibench-value-of-this-update";

/// Returns the workload.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![ClosedLoop::of(UpdatePod { bodies: RwLock::default() })]
}

/// PUT of a pod as served, with another annotation.
struct UpdatePod {
    /// Bodies of the pods, with [`MARK`] as the value of the annotation.
    bodies: RwLock<Vec<String>>,
}

impl UpdatePod {
    fn call(&self, context: &Context, i: u64) -> Result<Call> {
        let bodies = self.bodies.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(i % PODS).unwrap_or(0);
        let body = bodies.get(index).ok_or_else(|| Error::Wrong("no pod was read".to_owned()))?;
        let body = body.replacen(MARK, &value(i), 1);
        Ok(Call::send(Method::PUT, pod_path(&context.settings, i % PODS), JSON, body))
    }
}

fn value(i: u64) -> String {
    format!("update-{i}")
}

/// Returns the body of a PUT without a resource version.
fn body(mut pod: Value) -> String {
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.entry("annotations").or_insert_with(|| json!({}))["example.com/checksum"] = json!(MARK);
    }
    pod.to_string()
}

#[async_trait]
impl Operation for UpdatePod {
    fn name(&self) -> &'static str {
        "update-pod"
    }

    fn about(&self) -> &'static str {
        "PUT of a pod as served, with another annotation and without a resource version"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        let mut read = Vec::new();
        for i in 0..PODS {
            let call = Call::get(pod_path(&context.settings, i));
            let response = client.call(0, call, MAX_BODY).await?.expect(200)?;
            let pod = serde_json::from_slice(&response.head).map_err(|e| response.wrong(&e.to_string()))?;
            read.push(body(pod));
        }
        *self.bodies.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let i = u64::from(u32::MAX);
        let response = client.call(0, self.call(context, i)?, MAX_BODY).await?.expect(200)?;
        match memchr::memmem::find(&response.head, value(i).as_bytes()) {
            Some(_) => Ok(response.bytes / 2),
            None => Err(response.wrong("the new value is missing")),
        }
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        Ok(Some(client.call(lane, self.call(context, i)?, 0).await?.expect(200)?.bytes))
    }
}

#[test]
fn body_has_the_mark_and_no_revision() {
    let text = body(json!({"metadata": {"name": "a", "resourceVersion": "7"}}));
    assert!(text.contains(MARK) && !text.contains("resourceVersion"), "{text}");
}
