//! Creation and deletion of short-lived pods in a separate namespace.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload};
use crate::args::Settings;
use crate::bodies;
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::setup::{self, churn_path};

/// Returns the workloads for creation and deletion.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![ClosedLoop::of(Create), ClosedLoop::of(Delete)]
}

/// Returns pod `i` as a controller creates it.
fn pod(settings: &Settings, i: u64) -> String {
    let [created, ..] = bodies::nth_pod(i, settings);
    created.body.to_string()
}

async fn expect_count(context: &Context, client: &Client, expected: u64) -> Result<()> {
    let count = setup::count(client, &churn_path(&context.settings, "pods")).await?;
    if count == expected { Ok(()) } else { Err(Error::Wrong(format!("{count} pods, expected {expected}"))) }
}

/// Returns the number of effective operations: attempts beyond the last object do nothing.
fn done(context: &Context, attempts: u64) -> u64 {
    attempts.min(context.settings.objects)
}

/// Creates pods, at most as many as the server otherwise stores.
struct Create;

#[async_trait]
impl Operation for Create {
    fn name(&self) -> &'static str {
        "create"
    }

    fn about(&self) -> &'static str {
        "POST of a pod, at most --objects of them"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        setup::delete_all(client, &churn_path(&context.settings, "pods")).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        expect_count(context, client, 0).await.map(|()| pod(&context.settings, 0).len() as u64)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let settings: &Settings = &context.settings;
        if i >= settings.objects {
            return Ok(None);
        }
        let call = Call::send(Method::POST, churn_path(settings, "pods"), JSON, pod(settings, i));
        client.call(lane, call, 0).await?.expect(201).map(|answer| Some(answer.bytes))
    }

    async fn verify_after(&self, context: &Context, client: &Client, attempts: u64) -> Result<()> {
        expect_count(context, client, done(context, attempts)).await?;
        setup::delete_all(client, &churn_path(&context.settings, "pods")).await
    }
}

/// Deletes previously created pods.
struct Delete;

#[async_trait]
impl Operation for Delete {
    fn name(&self) -> &'static str {
        "delete"
    }

    fn about(&self) -> &'static str {
        "DELETE of a pod without grace period, at most --objects of them"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        let settings = &context.settings;
        let pods = churn_path(&context.settings, "pods");
        setup::delete_all(client, &pods).await?;
        setup::create_pods(client, settings, &pods, settings.objects).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        expect_count(context, client, context.settings.objects).await.map(|()| 1)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let settings: &Settings = &context.settings;
        if i >= settings.objects {
            return Ok(None);
        }
        let path = churn_path(settings, &format!("pods/{}?gracePeriodSeconds=0", bodies::pod_name(i)));
        client.call(lane, Call::delete(path), 0).await?.expect(200).map(|answer| Some(answer.bytes))
    }

    async fn verify_after(&self, context: &Context, client: &Client, attempts: u64) -> Result<()> {
        let left = context.settings.objects - done(context, attempts);
        expect_count(context, client, left).await?;
        setup::delete_all(client, &churn_path(&context.settings, "pods")).await
    }
}
