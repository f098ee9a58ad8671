//! Life of a claim and of its sandbox: the requests of every program that takes part, in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::objects::{self, Names};
use crate::args::Settings;
use crate::check::MAX_BODY;
use crate::client::{Call, Client, JSON};
use crate::error::Result;
use crate::realistic::{MERGE, STRATEGIC};
use crate::workload::events::{self, Lines};

/// Part of a watch event of a ready claim.
const READY: &[u8] = br#""type":"Ready""#;

/// A claim that is ready.
pub(super) struct ReadyClaim {
    /// Time from the claim to the event that reports it as ready.
    pub(super) latency: Duration,
    /// Received bytes of the responses.
    pub(super) bytes: u64,
}

/// Claims one sandbox after the other. It always has one warm sandbox.
pub(super) struct Lane {
    client: Arc<Client>,
    settings: Arc<Settings>,
    number: u64,
    /// Number of the next claim.
    next: u64,
    /// The warm sandbox as served; `None` after a failure.
    sandbox: Option<Value>,
    /// Received bytes of the current claim.
    bytes: u64,
}

impl Lane {
    /// Creates a lane with its first warm sandbox.
    pub(super) async fn start(client: Arc<Client>, settings: Arc<Settings>, number: u64) -> Result<Self> {
        let mut lane = Lane { client, settings, number, next: 0, sandbox: None, bytes: 0 };
        lane.warm_up(0).await?;
        Ok(lane)
    }

    /// Claims the warm sandbox, replaces it, and ends the claim.
    pub(super) async fn next(&mut self) -> Result<ReadyClaim> {
        self.bytes = 0;
        if self.sandbox.is_none() {
            // Objects of the failed claim may have its number.
            self.next += 1;
            self.warm_up(self.next).await?;
        }
        let number = self.next;
        self.next += 1;
        let latency = self.claim(number).await?;
        self.follow_up(number).await?;
        self.warm_up(self.next).await?;
        self.end(number).await?;
        Ok(ReadyClaim { latency, bytes: self.bytes })
    }

    fn names(&self, number: u64) -> Names {
        Names::new(&self.settings.namespace, self.number, number)
    }

    /// Sends a request and returns the object of its response.
    async fn send(&mut self, method: Method, path: String, kind: &'static str, body: Value) -> Result<Value> {
        let expected = if method == Method::POST { 201 } else { 200 };
        self.receive(Call::send(method, path, kind, body.to_string()), expected).await
    }

    async fn receive(&mut self, call: Call, expected: u16) -> Result<Value> {
        let lane = usize::try_from(self.number).unwrap_or(0);
        let response = self.client.call(lane, call, MAX_BODY).await?.expect(expected)?;
        self.bytes += response.bytes;
        serde_json::from_slice(&response.head).map_err(|e| response.wrong(&e.to_string()))
    }

    async fn event(&mut self, names: &Names, reason: &str, controller: &str) -> Result<()> {
        let event = names.event(reason, controller, self.next);
        self.send(Method::POST, names.events(), JSON, event).await.map(|_| ())
    }

    /// The client claims a sandbox and watches its claim. The claim controller assigns the warm sandbox.
    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn claim(&mut self, number: u64) -> Result<Duration> {
        let names = self.names(number);
        let started = Instant::now();
        self.send(Method::POST, names.claims(), JSON, names.claim_object()).await?;
        let lane = usize::try_from(self.number).unwrap_or(0);
        let mut watch = events::open(&self.client, lane, names.claim_watch()).await?;

        let observed =
            json!({"metadata": {"annotations": {objects::OBSERVED: "2026-01-01T00:00:00.000000000Z"}}});
        let mut claim = self.send(Method::PATCH, names.claim(), MERGE, observed).await?;
        if let Some(annotations) = claim.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.insert(objects::ASSIGNED.to_owned(), json!(names.sandbox_name()));
        }
        let claim = self.send(Method::PUT, names.claim(), JSON, claim).await?;
        let sandbox = self.sandbox.take().unwrap_or_default();
        let adoption = names.adoption(&sandbox, &claim);
        self.send(Method::PATCH, names.sandbox(), MERGE, adoption).await?;
        self.event(&names, "SandboxAdopted", "sandboxclaim-controller").await?;
        let ready = names.claim_status(&claim);
        self.send(Method::PATCH, format!("{}/status", names.claim()), MERGE, ready).await?;

        let mut lines = Lines::default();
        let mut is_ready = false;
        while !is_ready {
            let data = events::next_data(&mut watch).await?;
            self.bytes += data.len() as u64;
            lines.feed(&data, |event| is_ready |= memchr::memmem::find(event, READY).is_some())?;
        }
        Ok(started.elapsed())
    }

    /// The sandbox controller passes the new owner's labels to the pod and updates the status.
    async fn follow_up(&mut self, number: u64) -> Result<()> {
        let names = self.names(number);
        let labels = json!({"metadata": {"labels": {objects::CLAIM: names.claim_name()}}});
        self.send(Method::PATCH, names.pod(), MERGE, labels).await?;
        let status = objects::sandbox_status(true, "claimed");
        self.send(Method::PATCH, format!("{}/status", names.sandbox()), MERGE, status).await?;
        Ok(())
    }

    /// The warm pool controller creates a sandbox, the sandbox controller its pod. The scheduler and a kubelet start it.
    async fn warm_up(&mut self, number: u64) -> Result<()> {
        let names = self.names(number);
        let kilobytes = self.settings.pod_kb;
        self.send(Method::POST, names.sandboxes(), JSON, names.sandbox_object(kilobytes)).await?;
        let pool = json!({"status": {"replicas": number, "readyReplicas": number}});
        self.send(Method::PATCH, format!("{}/status", names.pool()), MERGE, pool).await?;
        self.send(Method::POST, names.pods(), JSON, names.pod_object(kilobytes)).await?;
        let annotation = json!({"metadata": {"annotations": {objects::POD_NAME: names.sandbox_name()}}});
        self.send(Method::PATCH, names.sandbox(), MERGE, annotation).await?;
        let sandbox_status = format!("{}/status", names.sandbox());
        let status = objects::sandbox_status(false, "created");
        self.send(Method::PATCH, sandbox_status.clone(), MERGE, status).await?;

        self.send(Method::POST, format!("{}/binding", names.pod()), JSON, names.binding()).await?;
        self.event(&names, "Scheduled", "default-scheduler").await?;
        for (is_ready, reasons) in [(false, ["Pulling", "Pulled"]), (true, ["Created", "Started"])] {
            self.receive(Call::get(names.pod()), 200).await?;
            let status = names.pod_status(kilobytes, is_ready);
            self.send(Method::PATCH, format!("{}/status", names.pod()), STRATEGIC, status).await?;
            for reason in reasons {
                self.event(&names, reason, "kubelet").await?;
            }
        }
        let status = objects::sandbox_status(true, "ready");
        self.sandbox = Some(self.send(Method::PATCH, sandbox_status, MERGE, status).await?);
        Ok(())
    }

    /// The client deletes the claim. The garbage collector deletes sandbox and pod, and the kubelet confirms the deletion.
    async fn end(&mut self, number: u64) -> Result<()> {
        let names = self.names(number);
        for path in
            [names.claim(), names.sandbox(), names.pod(), format!("{}?gracePeriodSeconds=0", names.pod())]
        {
            self.receive(Call::delete(path), 200).await?;
        }
        Ok(())
    }
}
