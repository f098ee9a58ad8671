//! The measured operations and the objects that they need.

use serde_json::{Value, json};

use crate::client::{Call, UNPRIVILEGED};
use crate::realistic::{GROUP, MERGE, Pod, STRATEGIC, gadget, node, node_status};

const CORE: &str = "/api/v1/namespaces/default";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
const LISTED: &str = "/api/v1/namespaces/listed/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const NODES: &str = "/api/v1/nodes";
pub(crate) const GADGETS: &str = "/apis/apibench.example.com/v1/namespaces/default/gadgets";

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Name of the measurement of a watch.
pub(crate) const WATCH: &str = "watch: event of a pod to 10 watchers, with the patch";

/// Number of listed pods.
const LISTED_PODS: usize = 50;
/// Number of pods that are deleted at once.
const DELETED_PODS: usize = 10;
/// Size of the pods in KB.
const POD_KB: u64 = 10;

/// Results of the preparation.
pub(crate) struct Fixtures {
    /// Token of a service account.
    pub(crate) token: String,
}

/// An operation. Its functions get the number of the repetition.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Expected status code.
    pub(crate) code: u16,
    /// Calls before the measured one.
    pub(crate) prepare: Box<dyn Fn(usize) -> Vec<Call>>,
    /// Object that is read before the measured call.
    pub(crate) read: Option<String>,
    /// The measured call, with the object that was read.
    pub(crate) call: Box<dyn Fn(usize, Value) -> Call>,
}

impl Operation {
    fn new(name: &'static str, code: u16, call: impl Fn(usize) -> Call + 'static) -> Self {
        let call = move |repetition, _: Value| call(repetition);
        Operation { name, code, prepare: Box::new(|_| Vec::new()), read: None, call: Box::new(call) }
    }

    /// Returns a PUT of an existing object after a change.
    fn put(name: &'static str, target: String, change: fn(usize, &mut Value)) -> Self {
        let read = Some(target.clone());
        let call = move |repetition, mut object: Value| {
            change(repetition, &mut object);
            Call::send("PUT", &target, crate::realistic::JSON, &object)
        };
        Operation { read, call: Box::new(call), ..Self::new(name, 200, |_| Call::get(PODS)) }
    }

    fn after(self, prepare: impl Fn(usize) -> Vec<Call> + 'static) -> Self {
        Operation { prepare: Box::new(prepare), ..self }
    }
}

/// Returns all operations except the watch.
pub(crate) fn all(fixtures: &Fixtures) -> Vec<Operation> {
    let groups = [pod_reads(), pod_writes(), pod_patches(), deletions(), lists(), small(), nodes(), custom()];
    groups.into_iter().flatten().chain(reviews_and_errors(fixtures)).collect()
}

/// Returns the calls that create the objects of the operations.
pub(crate) fn fixtures() -> Vec<Call> {
    let namespace = json!({"metadata": {"name": "listed"}});
    let account = json!({"metadata": {"name": "robot"}});
    let lease = json!({"metadata": {"name": "holder"}, "spec": {
        "holderIdentity": "node-1", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z",
    }});
    let mut calls = vec![
        Call::post("/api/v1/namespaces", &namespace),
        Call::post(format!("{CORE}/serviceaccounts"), &account),
        Call::post(LEASES, &lease),
        Call::post(MAPS, &config_map("map", "created")),
        Call::post(format!("{GADGETS}?fieldManager=kubectl"), &gadget("gadget", "created")),
    ];
    calls.extend(node("big").iter().map(|write| Call::of_manager(write, NODES, "big")));
    for name in ["read", "put", "patched", "watched"] {
        calls.extend(pod(PODS, name, 0));
    }
    calls.extend((0..LISTED_PODS).flat_map(|i| pod(LISTED, &format!("listed-{i:02}"), i as u64)));
    calls
}

pub(crate) fn token_request() -> Call {
    Call::post(format!("{CORE}/serviceaccounts/robot/token"), &json!({"spec": {}}))
}

fn pod_of(name: &str, number: u64) -> Value {
    Pod { name, app: number % 5, node: &node_of(number), kilobytes: POD_KB }.object()
}

fn node_of(number: u64) -> String {
    format!("node-{}", number % 5)
}

/// Returns the calls that create a pod with five managers.
fn pod(collection: &str, name: &str, number: u64) -> Vec<Call> {
    let writes = Pod { name, app: number % 5, node: &node_of(number), kilobytes: POD_KB }.writes();
    writes.iter().map(|write| Call::of_manager(write, collection, name)).collect()
}

fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "web"}},
        "data": {"value": value, "filler": "x".repeat(1000)},
    })
}

fn pod_reads() -> Vec<Operation> {
    let pod = format!("{PODS}/read");
    let get = |name, query: &str, accept| {
        let call = Call::get(format!("{pod}{query}")).accept(accept);
        Operation::new(name, 200, move |_| call.clone())
    };
    vec![
        get("get pod: JSON", "", crate::realistic::JSON),
        get("get pod: protobuf", "", PROTOBUF),
        get("get pod: JSON, any version", "?resourceVersion=0", crate::realistic::JSON),
        get("get pod: protobuf, any version", "?resourceVersion=0", PROTOBUF),
    ]
}

fn pod_writes() -> Vec<Operation> {
    let path = format!("{PODS}/put");
    vec![
        Operation::new("create pod", 201, |repetition| {
            let name = format!("created-{repetition}");
            Call::post(format!("{PODS}?fieldManager=kube-controller-manager"), &pod_of(&name, 0))
        }),
        Operation::put("put pod: unchanged", path.clone(), |_, _| {}),
        Operation::put("put pod: annotation", path.clone(), |repetition, pod| {
            pod["metadata"]["annotations"]["example.com/checksum"] = json!(format!("sum-{repetition}"));
        }),
        Operation::put("put pod: status", format!("{path}/status"), |repetition, pod| {
            pod["status"]["message"] = json!(format!("message {repetition}"));
        }),
    ]
}

fn pod_patches() -> Vec<Operation> {
    let patch = |name, rest: &str, content_type, body: fn(usize) -> Value| {
        let target = format!("{PODS}/patched{rest}");
        Operation::new(name, 200, move |repetition| {
            Call::send("PATCH", &target, content_type, &body(repetition))
        })
    };
    vec![
        patch(
            "merge patch pod: label",
            "?fieldManager=kubectl",
            MERGE,
            |repetition| json!({"metadata": {"labels": {"team": format!("team-{repetition}")}}}),
        ),
        patch(
            "strategic patch pod: image",
            "?fieldManager=kubectl",
            STRATEGIC,
            |repetition| json!({"spec": {"containers": [{"name": "main", "image": format!("app:v{repetition}")}]}}),
        ),
        patch(
            "json patch pod: annotation",
            "?fieldManager=kubectl",
            JSON_PATCH,
            |repetition| json!([{"op": "replace", "path": "/metadata/annotations/example.com~1ticket", "value": format!("SHOP-{repetition}")}]),
        ),
        patch("strategic patch pod: status", "/status?fieldManager=kubelet", STRATEGIC, |repetition| {
            let time = format!("2026-01-01T00:00:{repetition:02}Z");
            json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]}})
        }),
        patch("apply pod: label", "?fieldManager=gitops&force=true", APPLY, |repetition| {
            let labels = json!({"revision": format!("r{repetition}")});
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "patched", "labels": labels}})
        }),
        patch(
            "apply pod: unchanged",
            "?fieldManager=gitops-2&force=true",
            APPLY,
            |_| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "patched", "labels": {"stable": "true"}}}),
        ),
    ]
}

fn deletions() -> Vec<Operation> {
    let batch = |repetition: usize| format!("batch-{repetition}");
    vec![
        Operation::new("delete pod", 200, |repetition| {
            Call::delete(format!("{PODS}/deleted-{repetition}?gracePeriodSeconds=0"))
        })
        .after(|repetition| pod(PODS, &format!("deleted-{repetition}"), 0)),
        Operation::new("deletecollection: 10 pods by label", 200, move |repetition| {
            Call::delete(format!("{PODS}?gracePeriodSeconds=0&labelSelector=batch%3D{}", batch(repetition)))
        })
        .after(move |repetition| {
            let member = |i: usize| {
                let mut pod = pod_of(&format!("{}-{i}", batch(repetition)), 0);
                pod["metadata"]["labels"]["batch"] = json!(batch(repetition));
                Call::post(PODS, &pod)
            };
            (0..DELETED_PODS).map(member).collect()
        }),
    ]
}

fn lists() -> Vec<Operation> {
    let list = |name, query: &str, accept| {
        let call = Call::get(format!("{LISTED}{query}")).accept(accept);
        Operation::new(name, 200, move |_| call.clone())
    };
    vec![
        list("list 50 pods: JSON", "", crate::realistic::JSON),
        list("list 50 pods: JSON, any version", "?resourceVersion=0", crate::realistic::JSON),
        list("list 50 pods: protobuf", "", PROTOBUF),
        list("list 50 pods: Table", "", TABLE),
        list("list 50 pods: metadata only", "", METADATA),
        list("list 10 of 50 pods: page", "?limit=10", crate::realistic::JSON),
        list("list 10 of 50 pods: by label", "?labelSelector=app%3Dapp-1", crate::realistic::JSON),
        list("list 10 of 50 pods: by node", "?fieldSelector=spec.nodeName%3Dnode-1", crate::realistic::JSON),
    ]
}

/// Returns the operations on small objects.
fn small() -> Vec<Operation> {
    let apply = |name: String, value: &str| {
        let target = format!("{MAPS}/{name}?fieldManager=gitops&force=true");
        Call::send("PATCH", target, APPLY, &config_map(&name, value))
    };
    vec![
        Operation::new("create configmap", 201, |repetition| {
            Call::post(MAPS, &config_map(&format!("created-{repetition}"), "new"))
        }),
        Operation::put("put configmap: changed", format!("{MAPS}/map"), |repetition, map| {
            map["data"]["value"] = json!(format!("value-{repetition}"));
        }),
        Operation::new("get configmap", 200, |_| Call::get(format!("{MAPS}/map"))),
        Operation::new("apply configmap: new", 201, move |repetition| {
            apply(format!("new-{repetition}"), "new")
        }),
        Operation::new("apply configmap: changed", 200, move |repetition| {
            apply("applied".to_owned(), &format!("value-{repetition}"))
        })
        .after(move |_| vec![apply("applied".to_owned(), "initial")]),
        Operation::new("apply configmap: unchanged", 200, move |_| apply("same".to_owned(), "same"))
            .after(move |_| vec![apply("same".to_owned(), "same")]),
        Operation::put("put lease: renewed", format!("{LEASES}/holder"), |repetition, lease| {
            lease["spec"]["renewTime"] = json!(format!("2026-01-01T00:00:{repetition:02}.000000Z"));
        }),
        Operation::new("create event", 201, |repetition| {
            let about = json!({"kind": "Pod", "namespace": "default", "name": "read", "apiVersion": "v1"});
            let event = json!({
                "metadata": {"name": format!("read.{repetition}"), "namespace": "default"}, "involvedObject": about,
                "reason": "Pulled", "message": "Container image is already present on the machine", "type": "Normal",
                "source": {"component": "kubelet", "host": "node-0"}, "count": 1,
                "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
            });
            Call::post(format!("{CORE}/events"), &event)
        }),
    ]
}

fn nodes() -> Vec<Operation> {
    vec![
        Operation::new("get node of 50 KB", 200, |_| Call::get(format!("{NODES}/big"))),
        Operation::new("strategic patch node of 50 KB: status", 200, |repetition| {
            let status = node_status(&format!("2026-01-01T00:00:{repetition:02}Z"));
            let heartbeat = json!({"status": {"conditions": status["conditions"]}});
            Call::send("PATCH", format!("{NODES}/big/status?fieldManager=kubelet"), STRATEGIC, &heartbeat)
        }),
        Operation::put("put node of 50 KB: label", format!("{NODES}/big"), |repetition, node| {
            node["metadata"]["labels"]["pool"] = json!(format!("pool-{repetition}"));
        }),
    ]
}

fn custom() -> Vec<Operation> {
    let patch = |name, query: &str, content_type, body: fn(usize) -> Value| {
        let target = format!("{GADGETS}/gadget?{query}");
        Operation::new(name, 200, move |repetition| {
            Call::send("PATCH", &target, content_type, &body(repetition))
        })
    };
    vec![
        Operation::new("create custom object of 8 KB", 201, |repetition| {
            Call::post(GADGETS, &gadget(&format!("created-{repetition}"), "new"))
        }),
        Operation::new("get custom object of 8 KB", 200, |_| Call::get(format!("{GADGETS}/gadget"))),
        Operation::put(
            "put custom object of 8 KB: changed",
            format!("{GADGETS}/gadget"),
            |repetition, object| {
                object["data"]["value"] = json!(format!("value-{repetition}"));
            },
        ),
        patch(
            "merge patch custom object of 8 KB",
            "fieldManager=controller",
            MERGE,
            |repetition| json!({"spec": {"replicas": repetition + 4}}),
        ),
        patch("apply custom object of 8 KB", "fieldManager=gitops&force=true", APPLY, |repetition| {
            let spec = json!({"paused": repetition % 2 == 0});
            json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": "gadget"}, "spec": spec,
            })
        }),
    ]
}

fn reviews_and_errors(fixtures: &Fixtures) -> Vec<Operation> {
    let token = fixtures.token.clone();
    vec![
        Operation::new("create subjectaccessreview", 201, |_| {
            let attributes = json!({"namespace": "default", "verb": "get", "resource": "pods"});
            let spec = json!({"user": "operator", "groups": ["system:authenticated"], "resourceAttributes": attributes});
            let review =
                json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
            Call::post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review)
        }),
        Operation::new("create tokenreview", 201, move |_| {
            let spec = json!({"token": token});
            let review =
                json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
            Call::post("/apis/authentication.k8s.io/v1/tokenreviews", &review)
        }),
        Operation::new("error 404: missing pod", 404, |_| Call::get(format!("{PODS}/missing"))),
        Operation::new("error 403: forbidden list", 403, |_| Call::get(PODS).token(UNPRIVILEGED)),
    ]
}

/// Watch of one pod.
pub(crate) fn watch() -> Call {
    Call::get(format!("{PODS}?watch=1&fieldSelector=metadata.name%3Dwatched"))
}

/// Change of the watched pod.
pub(crate) fn watched_change(repetition: usize) -> Call {
    let labels = json!({"team": format!("team-{repetition}")});
    let target = format!("{PODS}/watched?fieldManager=kubectl");
    Call::send("PATCH", target, MERGE, &json!({"metadata": {"labels": labels}}))
}
