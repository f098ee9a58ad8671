//! Workloads for custom resource objects, like those for built-in ones.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload, watch_fanout};
use crate::check::{self, Format, MAX_BODY};
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::{custom, setup};

/// Returns all workloads for custom objects, reads first.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        ClosedLoop::of(Get),
        ClosedLoop::of(List),
        watch_fanout::custom(),
        ClosedLoop::of(Create),
        ClosedLoop::of(Apply),
    ]
}

/// Number of objects that are applied in turn.
const APPLIED: u64 = 200;

fn stable(context: &Context) -> String {
    custom::path(&context.settings.namespace)
}

/// Returns the path in the namespace for short-lived objects.
fn churn(context: &Context) -> String {
    custom::path(&format!("{}-churn", context.settings.namespace))
}

fn name(i: u64) -> String {
    format!("gadget-{i:06}")
}

fn nth(i: u64) -> String {
    custom::object(&name(i), &format!("value-{i}"))
}

/// Creates the CRD and as many objects as there are pods.
async fn prepare(context: &Context, client: &Arc<Client>) -> Result<()> {
    custom::define(client).await?;
    let path = stable(context);
    let objects = context.settings.objects;
    if setup::count(client, &path).await? == objects {
        return Ok(());
    }
    setup::delete_all(client, &path).await?;
    setup::create(client, &path, objects, context.settings.concurrency, nth).await
}

async fn expect_count(context: &Context, client: &Client, path: &str, expected: u64) -> Result<()> {
    match setup::count(client, path).await? {
        found if found == expected => Ok(()),
        found => Err(Error::Wrong(format!("{}: {found} objects, expected {expected}", context.target.name))),
    }
}

struct Get;

#[async_trait]
impl Operation for Get {
    fn name(&self) -> &'static str {
        "custom-get"
    }

    fn about(&self) -> &'static str {
        "one custom object of 8 KB, most recent, as JSON"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        prepare(context, client).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let call = Call::get(format!("{}/{}", stable(context), name(1)));
        let response = client.call(0, call, MAX_BODY).await?.expect(200)?;
        match memchr::memmem::find(&response.head, br#""value":"value-1""#) {
            Some(_) => Ok(response.bytes / 2),
            None => Err(response.wrong("its value is missing")),
        }
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let path = format!("{}/{}", stable(context), name(i % context.settings.objects));
        client.call(lane, Call::get(path), 0).await?.expect(200).map(|response| Some(response.bytes))
    }
}

struct List;

#[async_trait]
impl Operation for List {
    fn name(&self) -> &'static str {
        "custom-list"
    }

    fn about(&self) -> &'static str {
        "all custom objects of a namespace, --objects of 8 KB, most recent, as JSON"
    }

    fn lanes(&self, settings: &crate::args::Settings) -> u64 {
        settings.list_concurrency
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        prepare(context, client).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let response = client.call(0, Call::get(stable(context)), MAX_BODY).await?.expect(200)?;
        match check::items(Format::Json, &response)? {
            found if found == context.settings.objects => Ok(response.bytes / 2),
            found => Err(Error::Wrong(format!("{found} items, expected {}", context.settings.objects))),
        }
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, _: u64) -> Result<Option<u64>> {
        let response = client.call(lane, Call::get(stable(context)), 0).await?;
        response.expect(200).map(|response| Some(response.bytes))
    }
}

struct Create;

#[async_trait]
impl Operation for Create {
    fn name(&self) -> &'static str {
        "custom-create"
    }

    fn about(&self) -> &'static str {
        "POST of a custom object of 8 KB, at most --objects of them"
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        custom::define(client).await?;
        setup::delete_all(client, &churn(context)).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        expect_count(context, client, &churn(context), 0).await.map(|()| nth(0).len() as u64)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        if i >= context.settings.objects {
            return Ok(None);
        }
        let call = Call::send(Method::POST, churn(context), JSON, nth(i));
        client.call(lane, call, 0).await?.expect(201).map(|response| Some(response.bytes))
    }

    async fn verify_after(&self, context: &Context, client: &Client, attempts: u64) -> Result<()> {
        let done = attempts.min(context.settings.objects);
        expect_count(context, client, &churn(context), done).await?;
        setup::delete_all(client, &churn(context)).await
    }
}

struct Apply;

#[async_trait]
impl Operation for Apply {
    fn name(&self) -> &'static str {
        "custom-apply"
    }

    fn about(&self) -> &'static str {
        "server-side apply of a custom object of 8 KB"
    }

    async fn prepare(&self, _: &Context, client: &Arc<Client>) -> Result<()> {
        custom::define(client).await
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        self.run(context, client, 0, u64::from(u32::MAX)).await.map(|bytes| bytes.unwrap_or_default() / 2)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let name = format!("applied-{}", i % APPLIED);
        let value = format!("value-{i}");
        let path = format!("{}/{name}?fieldManager=apibench&force=true", churn(context));
        let call =
            Call::send(Method::PATCH, path, "application/apply-patch+yaml", custom::object(&name, &value));
        let response = client.call(lane, call, MAX_BODY).await?;
        if !matches!(response.status, 200 | 201) {
            return Err(response.wrong("wanted 200 or 201"));
        }
        match memchr::memmem::find(&response.head, value.as_bytes()) {
            Some(_) => Ok(Some(response.bytes)),
            None => Err(response.wrong("its value is missing")),
        }
    }
}
