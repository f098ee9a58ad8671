//! Metrics page after traffic that exercises every instrumented part of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::json;

use super::host::{RunningServer, SimulatedHost};

/// Timeout for policies and CRDs to take effect after their watch events.
const LIMIT: Duration = Duration::from_secs(60);

/// A metric family.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// `counter`, `gauge`, `histogram`.
    pub(crate) kind: String,
    /// `STABLE`, `BETA`, `ALPHA`, or empty.
    pub(crate) stability: String,
    /// Label names of its samples, without `le`.
    pub(crate) labels: BTreeSet<String>,
    /// Upper bounds of buckets.
    pub(crate) buckets: Vec<String>,
    pub(crate) samples: usize,
}

/// Families by name.
pub(crate) type Page = BTreeMap<String, Family>;

/// Returns the metrics of a server with kubeadm's flags after traffic. Cached.
pub(crate) fn after_traffic() -> &'static Page {
    static PAGE: OnceLock<Page> = OnceLock::new();
    PAGE.get_or_init(|| parse(texts().last().unwrap()))
}

/// Returns the raw pages during and after traffic. Cached.
pub(crate) fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(make)
}

fn make() -> Vec<String> {
    let host = SimulatedHost::new();
    let flags = super::manifests::kubeadm_flags();
    let mut server = host.run(&flags);
    // The webhook that does not respond.
    server.allow_log("webhook");
    prepare(&server);
    let begin = now();
    let mut texts = Vec::new();
    loop {
        traffic(&server);
        let kubectl = server.kubectl();
        let text = kubectl.ok("get --raw /metrics") + &kubectl.ok("get --raw /metrics/slis");
        let page = parse(&text);
        let counted = |name: &str| page.get(name).is_some_and(|family| family.samples > 0);
        let late = [
            "apiserver_admission_webhook_rejection_count",
            "apiserver_validating_admission_policy_check_total",
            "apiserver_storage_size_bytes",
        ];
        texts.push(text);
        if texts.len() > 1 && late.into_iter().all(counted) || begin.elapsed() > LIMIT {
            return texts;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[allow(clippy::disallowed_methods, reason = "a test has a limit")]
fn now() -> Instant {
    Instant::now()
}

/// Creates a CRD with a rule, a policy, and a webhook without a server.
fn prepare(server: &RunningServer<'_>) {
    let kubectl = server.kubectl();
    let apply = |object: serde_json::Value| drop(kubectl.ok_with("create -f -", &object.to_string()));
    apply(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"size": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size > 0"}],
            }}}],
        },
    }));
    let rules = |resource: &str| json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}]);
    apply(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "here"},
        "spec": {
            "matchConstraints": {"resourceRules": rules("configmaps")},
            "validations": [{"expression": "object.metadata.name != 'denied'"}],
        },
    }));
    apply(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "here"},
        "spec": {"policyName": "here", "validationActions": ["Deny"]},
    }));
    apply(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "here"},
        "webhooks": [{
            "name": "nobody.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "timeoutSeconds": 1, "rules": rules("secrets"),
            "clientConfig": {"url": "https://127.0.0.1:1/"},
        }],
    }));
    kubectl.ok("wait --for=condition=Established crd/widgets.example.com");
    apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}));
    // A node without a kubelet.
    apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "here"}, "status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }}));
    apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "here"}, "spec": {
        "nodeName": "here", "containers": [{"name": "here", "image": "here"}],
    }}));
    kubectl.ok("create service nodeport here --tcp=80");
}

fn traffic(server: &RunningServer<'_>) {
    let kubectl = server.kubectl();
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generateName": "w-"}, "size": 1,
    });
    for (arguments, stdin) in [
        ("create -f -", widget.to_string().as_str()),
        // Upstream counts only denials and errors of policies.
        ("create configmap denied", ""),
        // An old revision is read from the store.
        ("get --raw /api/v1/namespaces?resourceVersion=1&resourceVersionMatch=Exact", ""),
        ("create secret generic s --from-literal=a=b", ""),
        ("get endpoints", ""),
        ("logs here", ""),
        ("get --raw /api/v1/configmaps?timeout=1ns", ""),
        // Requests of other users are subject to flow control and RBAC.
        ("create configmap other --as=somebody", ""),
        ("get --raw /version --as=somebody --as-group=system:authenticated", ""),
        (
            "get --raw /api/v1/configmaps?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
            "",
        ),
    ] {
        // Some requests fail, which is counted too.
        drop(kubectl.run(arguments, stdin));
    }
}

/// Parses the Prometheus text format.
pub(crate) fn parse(text: &str) -> Page {
    let mut page = Page::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), Some(help)) => {
                let help = help.strip_prefix("EXPERIMENTAL: ").unwrap_or(help);
                let level = help.strip_prefix('[').and_then(|help| help.split_once(']'));
                page.entry(name.to_owned()).or_default().stability =
                    level.map_or("", |(level, _)| level).to_owned();
            }
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                page.entry(name.to_owned()).or_default().kind = kind.to_owned();
            }
            _ => sample(&mut page, line),
        }
    }
    page
}

fn sample(page: &mut Page, line: &str) {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
    let histogram = histogram.filter(|name| page.contains_key(*name));
    let Some(family) = page.get_mut(histogram.unwrap_or(name)) else { return };
    family.samples += 1;
    let labels =
        line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map_or("", |(labels, _)| labels);
    // Label names are the text before each `="`.
    let mut rest = labels;
    while let Some((name, after)) = rest.split_once("=\"") {
        let name = name.trim_start_matches(',');
        let end = quoted_end(after);
        match name {
            "le" if !family.buckets.iter().any(|bound| *bound == after[..end]) => {
                family.buckets.push(after[..end].to_owned());
            }
            "le" => {}
            name => drop(family.labels.insert(name.to_owned())),
        }
        rest = &after[end + 1..];
    }
}

/// Returns the end of a value: the first unescaped quote.
fn quoted_end(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at)
}

#[test]
fn page_parsing_reads_labels_and_buckets() {
    let page = parse(
        "# HELP a_seconds [BETA] Text.\n# TYPE a_seconds histogram\na_seconds_bucket{x=\"1,\\\"}\",le=\"0.5\"} 1\n\
         a_seconds_bucket{x=\"2\",le=\"0.5\"} 1\na_seconds_bucket{x=\"1\",le=\"+Inf\"} 2\na_seconds_sum{x=\"1\"} 2\n\
         # HELP b Text.\n# TYPE b gauge\nb 1\n",
    );
    let a = &page["a_seconds"];
    assert_eq!((a.kind.as_str(), a.stability.as_str(), a.samples), ("histogram", "BETA", 4));
    assert_eq!((a.buckets.join(" "), a.labels.iter().next().unwrap().as_str()), ("0.5 +Inf".to_owned(), "x"));
    assert_eq!((page["b"].samples, page["b"].stability.as_str()), (1, ""));
}
