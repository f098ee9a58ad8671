//! Benchmarks of validating policies: a new pod next to twenty policies, a thousand bindings of one policy,
//! and a thousand compiled policies.

#![allow(clippy::disallowed_methods, reason = "benches take the time as it is")]

use std::sync::Arc;

use admission::dynamic::{DynamicAdmissionDeps, EditedObject, VersionConverter};
use admission::policy::{
    Binding, Mutations, Param, ParamError, ParamKind, Params, Policies, Policy, PolicyDeps, PolicySource,
    ValidatingAdmissionPolicy, Validations,
};
use admission::{AdmissionNotes, Attributes, ObjectError, Objects, Operation, Options, Plugin};
use api::resources::{self, Handle, Resource};
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use component_base::weakened::WeakenedDecisions;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use jsontree::{Value, json};
use schema::object::Object;

fn main() {
    divan::main();
}

/// In-memory namespace, params and policies. Every object has only one version.
struct Host {
    found: Arc<Object>,
    policies: Arc<Policies<Validations>>,
}

#[async_trait]
impl Objects for Host {
    async fn cached(
        &self,
        _: &'static Resource<'static>,
        _: &str,
        _: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(Some(Arc::clone(&self.found)))
    }

    async fn get(
        &self,
        _: &'static Resource<'static>,
        _: &str,
        _: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(Some(Arc::clone(&self.found)))
    }

    async fn list(&self, _: &'static Resource<'static>, _: &str) -> Result<Vec<Arc<Object>>, Box<Status>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl VersionConverter for Host {
    fn generation(&self) -> u64 {
        1
    }

    fn equivalents(&self, _: &Resource<'_>) -> Vec<Handle> {
        Vec::new()
    }

    async fn to_version(
        &self,
        _: &Attributes<'_>,
        o: &Object,
        _: &Resource<'_>,
    ) -> Result<Object, Box<Status>> {
        Ok(o.clone())
    }

    fn to_json(&self, _: &Object, _: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        Ok(Vec::new())
    }

    async fn parse_json(
        &self,
        _: &Attributes<'_>,
        _: &[u8],
        _: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        Ok(EditedObject { object: Object::new(), shares_labels: false })
    }
}

#[async_trait]
impl Params for Host {
    fn is_namespaced(&self, _: &ParamKind) -> Option<bool> {
        Some(true)
    }

    async fn get(&self, kind: &ParamKind, _: &str, _: &str) -> Result<Option<Param>, ParamError> {
        let message = schema::builtin::kind("v1", "ConfigMap")
            .ok_or_else(|| ParamError::NotSynced { kind: Box::new(kind.clone()) })?;
        Ok(Some(Param { object: Arc::clone(&self.found), message }))
    }

    async fn list(&self, _: &ParamKind, _: &str) -> Result<Vec<Param>, ParamError> {
        Ok(Vec::new())
    }
}

impl PolicySource for Host {
    fn validating(&self) -> Option<Arc<Policies<Validations>>> {
        Some(Arc::clone(&self.policies))
    }

    fn mutating(&self) -> Option<Arc<Policies<Mutations>>> {
        None
    }
}

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

/// Builds a policy with three expressions for one resource.
fn policy(at: usize, plural: &str, params: bool) -> Value {
    let rule =
        json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [plural]});
    let kind = params.then(|| json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    json!({"metadata": {"name": format!("policy-{at}")}, "spec": {
        "failurePolicy": "Fail", "paramKind": kind,
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": {}, "objectSelector": {}},
        "variables": [{"name": "containers", "expression": "object.spec.containers"}],
        "validations": [
            {"expression": format!("variables.containers.all(c, c.image.startsWith('registry/') || {at} < 0)")},
            {"expression": "!has(object.spec.hostNetwork) || object.spec.hostNetwork == false"},
            {"expression": "'app' in object.metadata.labels", "message": "a label is missing"},
        ],
    }})
}

fn binding(at: usize, policy: usize, matches: Value) -> Value {
    json!({"metadata": {"name": format!("binding-{at}")}, "spec": {
        "policyName": format!("policy-{policy}"), "validationActions": ["Deny"],
        "paramRef": {"name": "params"}, "matchResources": matches,
    }})
}

fn plugin(policies: &[Value], bindings: &[Value]) -> ValidatingAdmissionPolicy {
    let policies = policies.iter().map(|policy| Arc::new(Policy::read(&object(policy.clone()))));
    let bindings = bindings.iter().map(|binding| Arc::new(Binding::read(&object(binding.clone()))));
    let labels = json!({"kubernetes.io/metadata.name": "ns-7"});
    let namespace = object(json!({"metadata": {"name": "ns-7", "labels": labels}}));
    let host =
        Arc::new(Host { found: Arc::new(namespace), policies: Arc::new(Policies::new(policies, bindings)) });
    ValidatingAdmissionPolicy::new(PolicyDeps {
        source: Arc::clone(&host) as Arc<dyn PolicySource>,
        params: Arc::clone(&host) as Arc<dyn Params>,
        deps: DynamicAdmissionDeps {
            versions: Arc::clone(&host) as Arc<dyn VersionConverter>,
            objects: host,
            authorizer: Arc::new(authorization::AlwaysAllow),
            now: Arc::new(std::time::Instant::now),
            run_blocking: Arc::new(|work| work()),
            conditions: Arc::default(),
            weakened: WeakenedDecisions::default(),
        },
        metrics: Arc::default(),
    })
}

/// Creates the same pod repeatedly.
fn create(bencher: Bencher<'_, '_>, plugin: &ValidatingAdmissionPolicy) {
    let containers = json!([{"name": "a", "image": "registry/a:1"}, {"name": "b", "image": "registry/b:1"}]);
    let pod = object(json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "ns-7", "labels": {"app": "web"}}, "spec": {"containers": containers},
    }));
    let user = UserInfo::default();
    let request = RequestContext::default();
    let Some(pods) = resources::find("", "v1", "pods", "") else { return };
    let attributes = Attributes {
        operation: Operation::Create,
        user: &user,
        resource: pods,
        endpoint: pods,
        namespace: "ns-7",
        name: "p",
        generate_name: "",
        old: None,
        options: Options::None,
        request: &request,
    };
    bencher.bench(|| {
        let done = block_on(plugin.validate(&attributes, Some(&pod), &mut AdmissionNotes::default()));
        assert!(black_box(done).is_ok());
    });
}

/// Twenty policies. Five of them match pods.
#[divan::bench]
fn a_pod_beside_twenty_policies(bencher: Bencher<'_, '_>) {
    let plural = |at: usize| if at.is_multiple_of(4) { "pods" } else { "services" };
    let policies: Vec<Value> = (0..20).map(|at| policy(at, plural(at), false)).collect();
    let bindings: Vec<Value> = (0..20).map(|at| binding(at, at, Value::Null)).collect();
    create(bencher, &plugin(&policies, &bindings));
}

/// Many bindings of one policy, one namespace each. Only one binding matches the pod.
#[divan::bench(args = [8, 1000])]
fn a_pod_beside_bindings_of_other_namespaces(bencher: Bencher<'_, '_>, bindings: usize) {
    let of = |at: usize| {
        let labels = json!({"kubernetes.io/metadata.name": format!("ns-{at}")});
        binding(at, 0, json!({"namespaceSelector": {"matchLabels": labels}, "objectSelector": {}}))
    };
    let bindings: Vec<Value> = (0..bindings).map(of).collect();
    create(bencher, &plugin(&[policy(0, "pods", true)], &bindings));
}

/// Many bindings of one policy for other resources, and one binding for pods.
#[divan::bench(args = [1, 1000])]
fn a_pod_beside_bindings_of_other_resources(bencher: Bencher<'_, '_>, bindings: usize) {
    let of = |at: usize| {
        let plural = if at == 0 { "pods" } else { "services" };
        let rule =
            json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": [plural]});
        binding(at, 0, json!({"resourceRules": [rule]}))
    };
    let bindings: Vec<Value> = (0..bindings).map(of).collect();
    create(bencher, &plugin(&[policy(0, "pods", true)], &bindings));
}

/// Measures the memory that compiled policies hold, as growth of the process.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn a_thousand_policies_compiled(bencher: Bencher<'_, '_>) {
    let policies: Vec<Object> = (0..1000).map(|at| object(policy(at, "pods", true))).collect();
    bencher.bench(|| {
        let before = resident();
        let compiled: Vec<Policy<Validations>> = policies.iter().map(Policy::read).collect();
        let grown = resident().saturating_sub(before);
        println!("{} policies hold about {grown} KiB", compiled.len());
        compiled
    });
}

/// Returns the resident memory of the process in kilobytes, or 0 if it is unavailable.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}
