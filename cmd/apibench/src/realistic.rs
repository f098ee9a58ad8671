//! Objects of realistic content and size, as the requests of their usual managers. Sizes are those of the served
//! JSON, with defaults, status and managed fields.

use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// API group of the custom resource.
pub(crate) const GROUP: &str = "apibench.example.com";

/// A time in the past.
const TIME: &str = "2026-01-01T00:00:00Z";

/// Size in KB from which a pod has probes, volumes, an owner and a complete status.
const FULL_KB: u64 = 8;
/// Size in KB from which a pod has the containers of a service mesh.
const MESH_KB: u64 = 15;
/// Size in bytes of a minimal pod without variables.
const MINIMAL_POD_BYTES: u64 = 3_900;
/// Size in bytes of a full pod of one container without variables.
const FULL_POD_BYTES: u64 = 7_500;
/// Size in bytes of a pod with the containers of a service mesh without variables.
const MESH_POD_BYTES: u64 = 10_800;
/// Size in bytes of an environment variable, of which a half is its managed fields.
const VARIABLE_BYTES: u64 = 126;

/// Images in the status of a node, the default limit of kubelets.
const NODE_IMAGES: u64 = 50;
/// Environment variables of a custom object.
const GADGET_VARIABLES: u64 = 49;

/// A write of one manager. Written in order, the writes of an object give it realistic managed fields.
pub(crate) struct Write {
    pub(crate) method: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) manager: &'static str,
    /// The rest of the path, with its slash.
    pub(crate) subresource: &'static str,
    pub(crate) body: Value,
}

impl Write {
    fn create(manager: &'static str, body: Value) -> Self {
        Write { method: "POST", content_type: JSON, manager, subresource: "", body }
    }

    fn merge(manager: &'static str, body: Value) -> Self {
        Write { method: "PATCH", content_type: MERGE, manager, subresource: "", body }
    }

    fn status(manager: &'static str, body: Value) -> Self {
        Write { method: "PATCH", content_type: STRATEGIC, manager, subresource: "/status", body }
    }

    /// Returns path and query for the object `name` of a collection.
    pub(crate) fn target(&self, collection: &str, name: &str) -> String {
        let Write { method, manager, subresource, .. } = self;
        let object = if *method == "POST" { String::new() } else { format!("/{name}") };
        format!("{collection}{object}{subresource}?fieldManager={manager}")
    }
}

/// Properties of a pod.
#[derive(Debug, Clone)]
pub(crate) struct Pod<'a> {
    pub(crate) name: &'a str,
    pub(crate) app: u64,
    pub(crate) node: &'a str,
    /// Approximate size in KB (1,000 bytes).
    pub(crate) kilobytes: u64,
}

impl Pod<'_> {
    /// Returns the writes of five managers: a controller, kubectl, a sidecar injector, the scheduler, and a kubelet.
    pub(crate) fn writes(&self) -> [Write; 5] {
        let labels = json!({
            "service.mesh.example.com/canonical-name": format!("app-{}", self.app),
            "service.mesh.example.com/canonical-revision": "v1",
        });
        let annotations = json!({
            "sidecar.mesh.example.com/status": r#"{"initContainers":["mesh-init"],"containers":["mesh-proxy"],"revision":"stable"}"#,
            "prometheus.io/scrape": "true", "prometheus.io/port": "15020", "prometheus.io/path": "/stats",
        });
        let scheduled = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": TIME});
        [
            Write::create("kube-controller-manager", self.object()),
            Write::merge(
                "kubectl",
                json!({"metadata": {
                    "labels": {"team": "storefront"},
                    "annotations": {"example.com/owner": "storefront@example.com", "example.com/ticket": "SHOP-1234"},
                }}),
            ),
            Write::merge(
                "sidecar-injector",
                json!({"metadata": {"labels": labels, "annotations": annotations}}),
            ),
            Write::status("kube-scheduler", json!({"status": {"conditions": [scheduled]}})),
            Write::status("kubelet", json!({"status": self.status()})),
        ]
    }

    /// Returns the pod as a controller creates it.
    pub(crate) fn object(&self) -> Value {
        let Pod { name, app, node, .. } = self;
        let all = self.containers();
        let containers: Vec<&Value> = all.iter().take(2).collect();
        let init: Vec<&Value> = all.iter().skip(2).collect();
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {
                    "app": format!("app-{app}"), "size": format!("{}k", self.kilobytes),
                    "pod-template-hash": "7d4b9c6f5",
                },
                "annotations": {"example.com/checksum": "0123456789abcdef0123456789abcdef"},
            },
            "spec": {"serviceAccountName": "default", "nodeName": node, "containers": containers},
        });
        if self.is_full() {
            pod["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("app-{app}-7d4b9c6f5"),
                "uid": "01234567-89ab-cdef-0123-456789abcdef", "controller": true, "blockOwnerDeletion": true,
            }]);
            pod["spec"]["initContainers"] = json!(init);
            pod["spec"]["volumes"] = json!([
                {"name": "config", "configMap": {"name": "app"}},
                {"name": "token", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                ]}},
            ]);
        }
        pod
    }

    fn is_full(&self) -> bool {
        self.kilobytes >= FULL_KB
    }

    /// Returns the number of environment variables that fill a pod of this size.
    fn variables(&self, base_bytes: u64) -> u64 {
        self.kilobytes.saturating_mul(1000).saturating_sub(base_bytes) / VARIABLE_BYTES
    }

    /// Returns the main container. If the size permits, the proxy of a mesh and its init container follow.
    fn containers(&self) -> Vec<Value> {
        if !self.is_full() {
            return vec![minimal_container(self.variables(MINIMAL_POD_BYTES))];
        }
        if self.kilobytes < MESH_KB {
            return vec![container("main", 8080, self.variables(FULL_POD_BYTES))];
        }
        let init = json!({
            "name": "mesh-init", "image": "registry.example.com/mesh/proxy:v1.24.1",
            "args": ["iptables", "--port=15001", "--inbound=15006", "--user=1337", "--exclude=15090,15021,15020"],
            "resources": resources(),
            "securityContext": {
                "allowPrivilegeEscalation": false, "runAsUser": 0, "runAsNonRoot": false,
                "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
            },
        });
        let variables = self.variables(MESH_POD_BYTES);
        let of_proxy = variables / 2;
        vec![container("main", 8080, variables - of_proxy), container("mesh-proxy", 15090, of_proxy), init]
    }

    /// Returns the status as a kubelet reports it.
    pub(crate) fn status(&self) -> Value {
        let condition = |kind| json!({"type": kind, "status": "True", "lastTransitionTime": TIME});
        if !self.is_full() {
            return json!({"phase": "Running", "podIP": "10.1.2.3", "conditions": [condition("Ready")]});
        }
        let state = json!({"running": {"startedAt": TIME}});
        let report = |container: &Value| {
            json!({
                "name": container["name"], "image": container["image"], "ready": true, "started": true,
                "restartCount": 0, "state": state,
                "imageID": "registry.example.com/team/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "containerID": "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            })
        };
        let containers = self.containers();
        let containers: Vec<Value> = containers.iter().take(2).map(report).collect();
        let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
        let conditions = kinds.map(condition);
        json!({
            "phase": "Running", "startTime": TIME, "hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}],
            "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "conditions": conditions,
            "containerStatuses": containers,
        })
    }
}

fn minimal_container(variables: u64) -> Value {
    let env: Vec<Value> = (0..variables).map(variable).collect();
    json!({"name": "main", "image": "registry.example.com/team/main:v1.2.3", "env": env, "resources": resources()})
}

fn container(name: &str, port: u64, variables: u64) -> Value {
    let env: Vec<Value> = (0..variables).map(variable).collect();
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": port}, "periodSeconds": 10});
    json!({
        "name": name, "image": format!("registry.example.com/team/{name}:v1.2.3"),
        "args": ["--listen=:8080", "--log-level=info"], "env": env,
        "ports": [{"name": format!("{port}-http"), "containerPort": port, "protocol": "TCP"}],
        "resources": resources(), "livenessProbe": probe("/live"), "readinessProbe": probe("/ready"),
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app"},
            {"name": "token", "mountPath": "/var/run/secrets/tokens", "readOnly": true},
        ],
    })
}

fn resources() -> Value {
    json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "256Mi"}})
}

fn variable(i: u64) -> Value {
    json!({"name": format!("VARIABLE_{i}"), "value": format!("some-configuration-value-{i}")})
}

/// Returns the writes of a node of 50 KB: a kubelet, a cloud controller, and the controller manager.
pub(crate) fn node(name: &str) -> [Write; 4] {
    let object = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        }, "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "spec": {"providerID": format!("bench://{name}")},
    });
    let topology =
        json!({"topology.kubernetes.io/region": "region-1", "topology.kubernetes.io/zone": "zone-1"});
    [
        Write::create("kubelet", object),
        Write::merge("cloud-controller-manager", json!({"metadata": {"labels": topology}})),
        Write::merge(
            "kube-controller-manager",
            json!({
                "metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "0"}},
                "spec": {"podCIDR": "10.1.2.0/24", "podCIDRs": ["10.1.2.0/24"]},
            }),
        ),
        Write::status("kubelet", json!({"status": node_status(TIME)})),
    ]
}

/// Returns a kubelet's report of a node at a time.
pub(crate) fn node_status(time: &str) -> Value {
    let conditions = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ];
    let conditions = conditions.map(|(kind, status, reason)| {
        json!({"type": kind, "status": status, "reason": reason, "message": "kubelet reports its condition",
            "lastHeartbeatTime": time, "lastTransitionTime": TIME})
    });
    let image = |i: u64| {
        let name = |tag: &str| format!("registry.example.com/platform/team-{}/component-{i}{tag}", i % 7);
        let digest =
            |part: u64| format!("@sha256:{:064x}", (i * 7 + part).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let names: Vec<String> = (0..7).map(|part| name(&digest(part))).chain([name(":v1.2.3")]).collect();
        json!({"names": names, "sizeBytes": 123_456_700 + i})
    };
    let images: Vec<Value> = (0..NODE_IMAGES).map(image).collect();
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "capacity": resources, "allocatable": resources, "conditions": conditions, "images": images,
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "node"}],
        "nodeInfo": {
            "machineID": "0123456789abcdef", "systemUUID": "01234567-89ab", "bootID": "01234567-89ab", "operatingSystem": "linux",
            "kernelVersion": "6.12.0", "osImage": "Linux", "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": "v1.37.2", "kubeProxyVersion": "", "architecture": "amd64",
        },
    })
}

/// Returns the CRD of [`gadget`].
pub(crate) fn gadget_definition() -> Value {
    let text = json!({"type": "string", "maxLength": 200});
    let variable =
        json!({"type": "object", "required": ["name"], "properties": {"name": text, "value": text}});
    let variables = json!({
        "type": "array", "items": variable, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let schema = json!({"type": "object", "properties": {
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "spec": {"type": "object", "properties": {
            "image": {"type": "string", "pattern": "^[a-z0-9./:_-]+$"},
            "replicas": {"type": "integer", "minimum": 0, "default": 1},
            "paused": {"type": "boolean"},
            "args": {"type": "array", "items": {"type": "string"}},
            "env": variables,
        }},
    }});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let names =
        json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    })
}

/// Returns a custom object of 8 KB with a unique value.
pub(crate) fn gadget(name: &str, value: &str) -> Value {
    let env: Vec<Value> = (0..GADGET_VARIABLES).map(variable).collect();
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget",
        "metadata": {"name": name, "labels": {"app": "app-1"}},
        "data": {"value": value, "notes": "x".repeat(1000)},
        "spec": {
            "image": "registry.example.com/team/app:v1.2.3", "replicas": 3, "paused": false,
            "args": ["--listen=:8080", "--log-level=info"], "env": env,
        },
    })
}
