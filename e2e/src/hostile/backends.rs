//! Hostile responses of admission webhooks, conversion webhooks and aggregated servers.
//!
//! The model: the server stays ready, a rejection has at most [`STATUS_BYTES_MAX`], a request takes at most
//! [`MEMORY_MAX`], and only a failed webhook call or its invalid patch is a 500, as upstream's.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use super::backend::{BODY_BYTES_MAX, Backend};
use super::bodies::start_bounded;
use super::report::{Limits, Report, Violation};
use super::target::{Answer, Api, Target};

/// Largest rejection in bytes: foreign text is cut at 2 KiB per source, and escaping and repetition in message
/// and details multiply it.
const STATUS_BYTES_MAX: u64 = 64 << 10;
/// Maximum memory of a request in bytes: a largest response exists as bytes, and as a tree.
const MEMORY_MAX: u64 = BODY_BYTES_MAX as u64 * 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Texts of 500 responses that upstream sends too: of a failed call, and of a webhook's patch that does not apply or has an
/// invalid result (`mutating/dispatcher.go`). The nesting limit is Mainstay's.
const WEBHOOK_ERRORS: [&str; 4] =
    ["webhook", "operation does not apply", "json: cannot unmarshal", "nested deeper than"];

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/hostile/configmaps?dryRun=All";
const THINGS: &str = "/apis/converted.example.com";

/// A request that makes the server call the backend.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// Creation of an object with this label, by which webhook configurations select.
    Admission(&'static str),
    /// Request of custom resources in a version that is not stored.
    Converted(&'static str),
    /// Request that an aggregated server or its descriptions answer.
    Aggregated(&'static str),
}

const CALLS: [Call; 10] = [
    Call::Admission("mutating-fail"),
    Call::Admission("mutating-ignore"),
    Call::Admission("validating-fail"),
    Call::Admission("validating-ignore"),
    Call::Converted("/v2/namespaces/hostile/things"),
    Call::Converted("/v2/namespaces/hostile/things/b"),
    Call::Aggregated("/apis/aggregated.example.com/v1/things"),
    Call::Aggregated("/apis/aggregated.example.com/v1"),
    Call::Aggregated("/apis"),
    Call::Aggregated("/openapi/v3"),
];

async fn start(backend: &Backend) -> Target {
    let target = Target::of(start_bounded()).await;
    install(&target.api, backend).await;
    target
}

/// Registers the backend as webhooks and as aggregated server.
async fn install(api: &Api, backend: &Backend) {
    let namespace = json!({"metadata": {"name": "hostile"}});
    api.create("/api/v1/namespaces", &namespace, PATIENCE).await;
    for kind in ["mutating", "validating"] {
        for policy in ["Fail", "Ignore"] {
            let name = format!("{kind}-{}", policy.to_lowercase());
            let resource = format!("{ADMISSION}/{kind}webhookconfigurations");
            api.create(&resource, &webhook(backend, &name, policy), PATIENCE).await;
        }
    }
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition(backend), PATIENCE)
        .await;
    let stored = format!("{THINGS}/v1/namespaces/hostile/things");
    wait(api, &stored).await;
    for name in ["a", "b", "c"] {
        let object = json!({"apiVersion": "converted.example.com/v1", "kind": "Thing",
            "metadata": {"name": name}, "spec": {"size": 1}});
        api.create(&stored, &object, PATIENCE).await;
    }
    let service = json!({"metadata": {"name": "hostile", "namespace": "hostile"},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1",
            "ports": [{"port": 443, "targetPort": backend.port()}]}});
    api.create("/api/v1/namespaces/hostile/services", &service, PATIENCE).await;
    let aggregated = json!({"metadata": {"name": "v1.aggregated.example.com"}, "spec": {
        "group": "aggregated.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "caBundle": backend.bundle(),
        "service": {"name": "hostile", "namespace": "hostile", "port": backend.port()}}});
    api.create("/apis/apiregistration.k8s.io/v1/apiservices", &aggregated, PATIENCE).await;
}

/// Waits until a custom resource is served.
async fn wait(api: &Api, path: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !api.get(path, PATIENCE).await.is_ok_and(|response| response.code == 200) {
        assert!(Instant::now() < deadline, "{path} is not served");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn webhook(backend: &Backend, name: &str, policy: &str) -> serde_json::Value {
    json!({"metadata": {"name": name}, "webhooks": [{
        "name": format!("{name}.example.com"), "failurePolicy": policy, "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
        "clientConfig": backend.client_config(&format!("/admit/{name}")),
        "objectSelector": {"matchLabels": {"hook": name}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["configmaps"]}]}]})
}

fn definition(backend: &Backend) -> serde_json::Value {
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.converted.example.com"},
        "spec": {"group": "converted.example.com", "scope": "Namespaced",
            "versions": [version("v1", true), version("v2", false)],
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                "clientConfig": backend.client_config("/convert")}}}})
}

async fn send(api: &Api, call: Call, patience: Duration) -> Result<Answer, Violation> {
    match call {
        Call::Admission(label) => {
            let object = json!({"metadata": {"name": "sent", "labels": {"hook": label}}, "data": {"a": "b"}});
            let body = object.to_string().into_bytes();
            api.ask(Method::POST, CONFIG_MAPS, "application/json", body, patience).await
        }
        Call::Converted(path) => api.get(&format!("{THINGS}{path}"), patience).await,
        Call::Aggregated(path) => api.get(path, patience).await,
    }
}

/// Sends the request, and compares the response and its cost with the model. Returns the memory in bytes.
async fn check(target: &mut Target, call: Call, limits: Limits) -> Result<u64, Violation> {
    let memory = target.process.memory().ok_or("the server has ended")?;
    target.process.forget_peak();
    let response = send(&target.api, call, limits.patience).await;
    let peak = target.process.memory_peak().unwrap_or_default().saturating_sub(memory);
    target.check_ready(limits.patience).await?;
    if peak > MEMORY_MAX {
        return Err(format!("{} MiB of memory", peak >> 20).into());
    }
    // The responses of an aggregated server pass through, with their codes, lengths and failures.
    let (Call::Admission(_) | Call::Converted(_)) = call else { return Ok(peak) };
    let response = response?;
    let is_expected = WEBHOOK_ERRORS.iter().any(|error| response.text.contains(error));
    if response.panicked() || (response.code == 500 && !is_expected) {
        return Err(response.shown().into());
    }
    if response.code >= 400 && response.bytes > STATUS_BYTES_MAX {
        return Err(format!("a rejection of {} bytes: {}", response.bytes, response.shown()).into());
    }
    Ok(peak)
}

/// Sends requests whose backends answer by the seed, until the limits are reached.
///
/// # Panics
/// The server does not start.
pub async fn run(limits: Limits) -> Report {
    let end = Instant::now() + limits.time;
    let backend = Backend::start().await;
    let mut report = Report::default();
    let mut target = start(&backend).await;
    for number in 0..limits.requests {
        if Instant::now() >= end {
            break;
        }
        let seed = limits.seed.wrapping_add(number as u64);
        let call = CALLS[number % CALLS.len()];
        backend.set_seed(seed);
        let name = format!("response {seed} to {call:?}");
        let result = check(&mut target, call, limits).await;
        if let Ok(memory) = result
            && memory > report.memory_worst.0
        {
            report.memory_worst = (memory, name.clone());
        }
        report.add(&name, result.map(drop));
        if !target.server.is_running() {
            target = start(&backend).await;
        }
    }
    report
}

/// Registers a backend and sends requests to it until the end time, without cost checks. Returns the number of
/// responses, and of those that a panic caused.
///
/// # Panics
/// The backend cannot be registered.
pub async fn storm(api: Api, seed: u64, until: Instant) -> (usize, usize) {
    let backend = Backend::start().await;
    install(&api, &backend).await;
    let mut counts = (0, 0);
    for number in 0u64.. {
        if Instant::now() >= until {
            break;
        }
        backend.set_seed(seed.wrapping_add(number));
        let Ok(response) = send(&api, CALLS[number as usize % CALLS.len()], PATIENCE).await else { continue };
        counts.0 += 1;
        counts.1 += usize::from(response.panicked());
    }
    counts
}
