//! Tests of the objects that a start creates in the store.
#![allow(clippy::unwrap_used, clippy::panic)]

use component_base::features::Gates;
use component_base::metrics::MetricsRegistry;
use std::collections::BTreeMap;

use api::resources::{self, Resource};
use cacher::{Delegator, Options};
use controllers::bootstrap::flow_control::FlowControl;
use controllers::bootstrap::{SYSTEM_NAMESPACES, objects};
use controllers::desired_state::{create_if_missing, object};
use jsontree::{Value, json};
use registry::client::ReadFreshness;
use registry::{Client, meta};
use schema::object::{self, Object};
use std::time::Duration;
use storage::memory::Memory;
use storage::{ListOptions, Revision};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::system::{SystemClock, SystemEntropy};

/// A store and an uncached registry.
struct Cluster {
    storage: Arc<dyn Storage>,
    registry: Registry,
}

impl Cluster {
    fn new() -> Self {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new());
        let resources = registry::ingest::resources("/registry", Gates::default(), |_| false);
        let (delegator, _) = Delegator::new(Arc::clone(&storage), "/registry", resources, Options::default());
        let clock = Arc::new(SystemClock);
        let entropy = Arc::new(SystemEntropy);
        let registry = Registry::new(delegator, "/registry", clock, entropy, Duration::from_secs(1));
        Cluster { storage, registry }
    }

    /// Runs the startup work of a server and stops it before it is ready. Returns the names of the hooks.
    async fn start(&self, change: impl FnOnce(&mut Config)) -> Vec<&'static str> {
        let mut config = Config::for_tests(PathBuf::new());
        change(&mut config);
        let tasks = Tasks::new(CancellationToken::new(), &MetricsRegistry::default());
        let duties =
            startup_tasks(&config, &self.registry, Arc::clone(&self.storage), Vec::new(), &tasks).unwrap();
        let mut names = Vec::new();
        for hook in duties.hooks {
            names.push(hook.name);
            hook.work.await.unwrap();
        }
        tasks.finish(Duration::from_secs(60)).await;
        names
    }

    fn client(&self, group: &str, plural: &str) -> Client {
        Client::find(&self.registry, group, plural).unwrap()
    }

    /// Returns a stored object without its unique metadata.
    async fn object(&self, group: &str, plural: &str, name: &str) -> Value {
        let mut object =
            self.client(group, plural).get("", name, ReadFreshness::Cached).await.unwrap().unwrap();
        unify(&mut object);
        object.into()
    }

    /// Returns the last revision of each key, without the constantly renewed leases.
    async fn written(&self) -> BTreeMap<String, Revision> {
        let listing = self.storage.list("/registry/", ListOptions::default()).await.unwrap();
        let kvs = listing.kvs.into_iter().filter(|kv| !kv.key.starts_with("/registry/leases/"));
        kvs.map(|kv| (kv.key, kv.mod_revision)).collect()
    }

    async fn delete(&self, key: &str) {
        let revision = self.storage.get(key).await.unwrap().kv.unwrap().mod_revision;
        self.storage.delete(key, revision).await.unwrap();
    }
}

/// Removes or replaces the fields that the server sets.
fn unify(object: &mut Object) {
    for system in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
        meta::set(object, system, None);
    }
    let managers = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
    for manager in managers.and_then(Value::as_array_mut).into_iter().flatten() {
        manager["time"] = json!("<time>");
    }
    let conditions = object.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in conditions.and_then(Value::as_array_mut).into_iter().flatten() {
        condition["lastTransitionTime"] = json!("<time>");
    }
}

/// Returns the kinds of the data as (resource, objects).
fn kinds() -> Vec<(&'static Resource<'static>, Vec<Object>)> {
    let rbac = "rbac.authorization.k8s.io";
    let flow_control = "flowcontrol.apiserver.k8s.io";
    let plurals = [
        ("scheduling.k8s.io", "priorityclasses"),
        (rbac, "clusterroles"),
        (rbac, "clusterrolebindings"),
        (rbac, "roles"),
        (rbac, "rolebindings"),
        (flow_control, "prioritylevelconfigurations"),
        (flow_control, "flowschemas"),
    ];
    let rows = plurals.map(|(group, plural)| resources::find(group, "v1", plural, "").unwrap());
    rows.into_iter()
        .map(|row| (row, objects::of_kind(row.group_version, row.kind, &Gates::default()).unwrap()))
        .collect()
}

#[tokio::test]
async fn new_cluster_gets_all_bootstrap_objects() {
    let cluster = Cluster::new();
    cluster.start(|_| {}).await;
    for (row, mut expected) in kinds() {
        let mut actual = cluster.client(row.group, row.plural).list("", ReadFreshness::Cached).await.unwrap();
        for object in &mut actual {
            unify(object);
            meta::set(object, "managedFields", None);
            object.remove("status");
        }
        for object in &mut expected {
            kinds::defaults::apply(row.group_version, row.kind, object, &Gates::default());
            object.remove("status");
        }
        let place = |object: &Object| {
            (meta::text(object, "namespace").to_owned(), meta::text(object, "name").to_owned())
        };
        expected.sort_by_key(place);
        actual.sort_by_key(place);
        assert_eq!(actual, expected, "{}", row.kind);
    }
    for name in SYSTEM_NAMESPACES {
        let namespace = cluster.object("", "namespaces", name).await;
        assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": name}));
    }
}

#[tokio::test]
async fn field_managers_match_upstream() {
    let cluster = Cluster::new();
    cluster.start(|_| {}).await;
    let check = async |group: &str, plural: &str, name: &str, expected: Value| {
        let object = cluster.object(group, plural, name).await;
        let managers: Vec<Value> = object["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                let fields: Value = serde_json::from_str(entry["fieldsV1"].as_str().unwrap()).unwrap();
                json!([entry["manager"], entry["operation"], fields])
            })
            .collect();
        assert_eq!(Value::from(managers), expected, "{plural} {name}");
    };
    let class = json!({"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}});
    let update = |fields: Value| json!([["kube-apiserver", "Update", fields]]);
    check("scheduling.k8s.io", "priorityclasses", "system-node-critical", update(class)).await;
    let role = json!({
        "f:aggregationRule": {".": {}, "f:clusterRoleSelectors": {}},
        "f:metadata": {
            "f:annotations": {".": {}, "f:rbac.authorization.kubernetes.io/autoupdate": {}},
            "f:labels": {".": {}, "f:kubernetes.io/bootstrapping": {}},
        },
    });
    check("rbac.authorization.k8s.io", "clusterroles", "admin", update(role)).await;
    let schema = json!({
        "f:metadata": {"f:annotations": {".": {}, "f:apf.kubernetes.io/autoupdate-spec": {}}},
        "f:spec": {
            "f:distinguisherMethod": {".": {}, "f:type": {}},
            "f:matchingPrecedence": {},
            "f:priorityLevelConfiguration": {"f:name": {}},
            "f:rules": {},
        },
    });
    let dangling = json!({"f:status": {"f:conditions": {"k:{\"type\":\"Dangling\"}": {
        ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {},
    }}}});
    let producer = json!([
        ["api-priority-and-fairness-config-consumer-v1", "Apply", dangling],
        ["api-priority-and-fairness-config-producer-v1", "Update", schema],
    ]);
    check("flowcontrol.apiserver.k8s.io", "flowschemas", "catch-all", producer).await;
    let ready = json!({"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {
        ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:status": {}, "f:type": {},
    }}}});
    let cidr = json!([
        ["kubernetes-service-cidr-controller", "Apply", ready],
        ["kube-apiserver", "Update", {"f:spec": {"f:cidrs": {}}}],
    ]);
    check("networking.k8s.io", "servicecidrs", "kubernetes", cidr).await;
}

#[tokio::test]
async fn second_start_only_repairs_missing_objects() {
    let cluster = Cluster::new();
    cluster.start(|_| {}).await;
    let before = cluster.written().await;
    cluster.start(|_| {}).await;
    assert_eq!(cluster.written().await, before);

    let lost = [
        "/registry/namespaces/kube-public",
        "/registry/priorityclasses/system-node-critical",
        "/registry/clusterroles/view",
        "/registry/flowschemas/probes",
        "/registry/servicecidrs/kubernetes",
    ];
    for key in lost {
        cluster.delete(key).await;
    }
    cluster.start(|_| {}).await;
    let mut after = cluster.written().await;
    for key in lost {
        let was = before.get(key);
        let is = after.remove(key);
        assert!(is > was.copied(), "{key}");
    }
    assert!(after.iter().all(|(key, revision)| before.get(key) == Some(revision)));
}

#[tokio::test]
async fn a_binding_to_another_role_is_replaced() {
    let cluster = Cluster::new();
    cluster.start(|_| {}).await;
    let client = cluster.client("rbac.authorization.k8s.io", "clusterrolebindings");
    let binding = client.get("", "cluster-admin", ReadFreshness::Cached).await.unwrap().unwrap();
    cluster.delete("/registry/clusterrolebindings/cluster-admin").await;
    let mut wrong = binding.clone();
    unify(&mut wrong);
    object::set(&mut wrong, &["roleRef", "name"], "view");
    client.reconcile("", "cluster-admin", &|current| create_if_missing(current, &wrong)).await.unwrap();
    cluster.start(|_| {}).await;
    let replaced = client.get("", "cluster-admin", ReadFreshness::Cached).await.unwrap().unwrap();
    assert_eq!(replaced.get("roleRef"), binding.get("roleRef"));
    assert_eq!(replaced.get("subjects"), binding.get("subjects"));
}

#[tokio::test]
async fn obsolete_objects_are_removed_and_others_maintained() {
    let cluster = Cluster::new();
    cluster.start(|_| {}).await;
    let client = cluster.client("flowcontrol.apiserver.k8s.io", "flowschemas");
    let probes = cluster.object("flowcontrol.apiserver.k8s.io", "flowschemas", "probes").await;
    for (name, annotation) in [("old", "true"), ("mine", "false")] {
        let mut schema = object(probes.clone());
        meta::set_text(&mut schema, "name", name);
        object::set(
            &mut schema,
            &["metadata", "annotations", "apf.kubernetes.io/autoupdate-spec"],
            annotation,
        );
        object::set(&mut schema, &["spec", "priorityLevelConfiguration", "name"], "none");
        schema.remove("status");
        client.reconcile("", name, &|current| create_if_missing(current, &schema)).await.unwrap();
    }
    FlowControl::new(&cluster.registry).unwrap().maintain().await.unwrap();
    assert!(client.get("", "old", ReadFreshness::Cached).await.unwrap().is_none());
    let dangling = async |name: &str| {
        let schema = cluster.object("flowcontrol.apiserver.k8s.io", "flowschemas", name).await;
        schema["status"]["conditions"][0]["status"].clone()
    };
    assert_eq!(dangling("mine").await, "True");
    assert_eq!(dangling("probes").await, "False");
}

#[tokio::test]
async fn service_cidr_is_ready_and_gains_family() {
    let cluster = Cluster::new();
    let spec_and_status = async |change: fn(&mut Config)| {
        cluster.start(change).await;
        let cidr = cluster.object("networking.k8s.io", "servicecidrs", "kubernetes").await;
        (cidr["spec"]["cidrs"].clone(), cidr["status"]["conditions"].clone())
    };
    let ready = json!([{
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "<time>",
        "message": "Kubernetes default Service CIDR is ready",
    }]);
    assert_eq!(spec_and_status(|_| {}).await, (json!(["10.0.0.0/24"]), ready.clone()));
    let dual = |config: &mut Config| config.services.cidrs.extend(crate::config::Cidr::parse("fd00::/112"));
    assert_eq!(spec_and_status(dual).await, (json!(["10.0.0.0/24", "fd00::/112"]), ready.clone()));
    assert_eq!(spec_and_status(|_| {}).await, (json!(["10.0.0.0/24", "fd00::/112"]), ready));
}
