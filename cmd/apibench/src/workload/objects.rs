//! Single-object requests: reads, patches, updates and applies.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload};
use crate::args::Settings;
use crate::bodies;
use crate::check::MAX_BODY;
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::setup::path;

/// Number of ConfigMaps that are updated and applied in turn.
const MAPS: u64 = 200;

/// A prime, so that consecutive requests target distant objects.
const STRIDE: u64 = 7919;

/// Returns the workloads that read one pod.
pub(super) fn reads() -> Vec<Box<dyn Workload>> {
    let get = |name, about, call| Single { name, about, call, needle: |s, i| pod_of(s, i), prepare: false };
    vec![
        ClosedLoop::of(get("get", "one pod, most recent, as JSON", |settings, i| {
            Call::get(pod_path(settings, i))
        })),
        ClosedLoop::of(get("get-rv0", "one pod, any state not older than 0, as JSON", |settings, i| {
            Call::get(format!("{}?resourceVersion=0", pod_path(settings, i)))
        })),
    ]
}

/// Returns the workloads that write one existing object.
pub(super) fn writes() -> Vec<Box<dyn Workload>> {
    vec![
        ClosedLoop::of(Single {
            name: "update",
            about: "PUT of a config map of 1 KB, without a resource version",
            call: |settings, i| {
                let name = format!("update-{}", i % MAPS);
                let body = bodies::config_map(&name, &format!("value-{i}"));
                Call::send(Method::PUT, path(settings, &format!("configmaps/{name}")), JSON, body)
            },
            needle: |_, i| format!("value-{i}"),
            prepare: true,
        }),
        ClosedLoop::of(Single {
            name: "patch-merge",
            about: "merge patch of a pod's label",
            call: |settings, i| {
                let body = format!(r#"{{"metadata":{{"labels":{{"seq":"s{i}"}}}}}}"#);
                Call::send(Method::PATCH, pod_path(settings, i), "application/merge-patch+json", body)
            },
            needle: |_, i| format!(r#""seq":"s{i}""#),
            prepare: false,
        }),
        ClosedLoop::of(Single {
            name: "patch-strategic",
            about: "strategic merge patch of a pod's status, as kubelets send it",
            call: |settings, i| {
                let body = format!(
                    r#"{{"status":{{"phase":"Running","message":"m{i}","conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
                );
                let path = format!("{}/status", pod_path(settings, i));
                Call::send(Method::PATCH, path, "application/strategic-merge-patch+json", body)
            },
            needle: |_, i| format!(r#""message":"m{i}""#),
            prepare: false,
        }),
        ClosedLoop::of(Single {
            name: "apply",
            about: "server-side apply of a small config map; skipped where the server answers 415",
            call: |settings, i| {
                let name = format!("apply-{}", i % MAPS);
                let body = format!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"k":"value-{i}"}}}}"#
                );
                let query = format!("configmaps/{name}?fieldManager=apibench&force=true");
                Call::send(Method::PATCH, path(settings, &query), "application/apply-patch+yaml", body)
            },
            needle: |_, i| format!("value-{i}"),
            prepare: false,
        }),
    ]
}

/// Returns further workloads that patch a pod.
pub(super) fn pod_patches() -> Vec<Box<dyn Workload>> {
    vec![
        ClosedLoop::of(Single {
            name: "patch-json",
            about: "JSON patch of a pod's annotation",
            call: |settings, i| {
                let body = format!(
                    r#"[{{"op":"replace","path":"/metadata/annotations/example.com~1ticket","value":"t{i}"}}]"#
                );
                Call::send(Method::PATCH, pod_path(settings, i), "application/json-patch+json", body)
            },
            needle: |_, i| format!(r#""example.com/ticket":"t{i}""#),
            prepare: false,
        }),
        ClosedLoop::of(Single {
            name: "apply-pod",
            about: "server-side apply of a pod's label",
            call: |settings, i| {
                let name = pod_of(settings, i);
                let body = format!(
                    r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","labels":{{"applied":"a{i}"}}}}}}"#
                );
                let path = format!("{}?fieldManager=gitops&force=true", pod_path(settings, i));
                Call::send(Method::PATCH, path, "application/apply-patch+yaml", body)
            },
            needle: |_, i| format!(r#""applied":"a{i}""#),
            prepare: false,
        }),
    ]
}

fn pod_of(settings: &Settings, i: u64) -> String {
    bodies::pod_name(i.wrapping_mul(STRIDE) % settings.objects)
}

/// Returns the path of the pod of request `i`.
pub(super) fn pod_path(settings: &Settings, i: u64) -> String {
    path(settings, &format!("pods/{}", pod_of(settings, i)))
}

/// One request for one object, which the response contains.
struct Single {
    name: &'static str,
    about: &'static str,
    call: fn(&Settings, u64) -> Call,
    /// Text that the response to request `i` must contain.
    needle: fn(&Settings, u64) -> String,
    /// True if the ConfigMaps must be created first.
    prepare: bool,
}

#[async_trait]
impl Operation for Single {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    async fn prepare(&self, context: &Context, client: &Arc<Client>) -> Result<()> {
        let maps = path(&context.settings, "configmaps");
        for i in 0..if self.prepare { MAPS } else { 0 } {
            let body = bodies::config_map(&format!("{}-{i}", self.name), "new");
            let response = client.call(0, Call::send(Method::POST, maps.as_str(), JSON, body), 0).await?;
            if response.status != 409 {
                response.expect(201)?;
            }
        }
        Ok(())
    }

    /// Sends one request with a number that the loop does not use, so that a write is not a no-op.
    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let i = u64::from(u32::MAX);
        let response = client.call(0, (self.call)(&context.settings, i), MAX_BODY).await?;
        if response.status == 415 {
            return Err(Error::Unsupported("the server answers 415 to this patch type".to_owned()));
        }
        if !matches!(response.status, 200 | 201) {
            return Err(response.wrong("wanted 200 or 201"));
        }
        let needle = (self.needle)(&context.settings, i);
        if memchr::memmem::find(&response.head, needle.as_bytes()).is_none() {
            return Err(response.wrong(&format!("{needle} is missing")));
        }
        Ok(response.bytes / 2)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>> {
        let response = client.call(lane, (self.call)(&context.settings, i), 0).await?;
        match response.status {
            200 | 201 => Ok(Some(response.bytes)),
            _ => Err(response.wrong("wanted 200 or 201")),
        }
    }
}
