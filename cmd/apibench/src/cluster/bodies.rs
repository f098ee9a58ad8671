//! Objects of the simulated cluster, as their clients send them.

use std::fmt::Write as _;

use bytes::Bytes;

use super::protobuf::Message;

/// Group of the custom resources.
pub(crate) const GROUP: &str = "apibench.example.com";
/// Number of endpoints per slice.
const ENDPOINTS: u64 = 30;

pub(crate) fn node_name(node: u64) -> String {
    format!("node-{node:05}")
}

pub(crate) fn namespace_name(namespace: u64) -> String {
    format!("bench-{namespace:04}")
}

pub(crate) fn pod_name(pod: u64) -> String {
    format!("web-7d4b9c6f5-{pod:07}")
}

/// Returns a node as a kubelet registers it.
pub(crate) fn node(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}","labels":{{"kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","node.kubernetes.io/instance-type":"m7.large","topology.kubernetes.io/zone":"zone-{zone}"}},"annotations":{{"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}},"spec":{{"providerID":"bench://{name}"}}}}"#,
        zone = name.len() % 3
    )
}

/// Returns a kubelet's report of its node status. `mark` encodes the due time.
pub(crate) fn node_status(mark: &str, time: &str) -> String {
    let mut conditions = String::new();
    for (kind, status, reason) in [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ] {
        let comma = if conditions.is_empty() { "" } else { "," };
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            conditions,
            r#"{comma}{{"type":"{kind}","status":"{status}","reason":"{reason}","message":"as it should be","lastHeartbeatTime":"{time}","lastTransitionTime":"2026-01-01T00:00:00Z"}}"#
        );
    }
    let mut images = String::new();
    for image in 0..12 {
        let comma = if image == 0 { "" } else { "," };
        let _ = write!(
            images,
            r#"{comma}{{"names":["registry.example.com/team/app-{image}:v1.2.3"],"sizeBytes":1234567{image}}}"#
        );
    }
    format!(
        r#"{{"metadata":{{"annotations":{{"apibench":"{mark}"}}}},"status":{{"capacity":{{"cpu":"8","memory":"32Gi","pods":"110"}},"allocatable":{{"cpu":"7800m","memory":"30Gi","pods":"110"}},"conditions":[{conditions}],"images":[{images}]}}}}"#
    )
}

/// Returns a lease; a new one without `revision`. `time` is in seconds and nanoseconds since 1970.
pub(crate) fn lease(node: &str, revision: Option<&str>, time: (u64, u64)) -> Bytes {
    let mut metadata = Message::new().text(1, node).text(3, "kube-node-lease");
    if let Some(revision) = revision {
        metadata = metadata.text(6, revision);
    }
    let renewed = Message::new().number(1, time.0).number(2, time.1);
    let spec = Message::new().text(1, node).number(2, 40).message(4, &renewed);
    let lease = Message::new().message(1, &metadata).message(2, &spec);
    lease.object("coordination.k8s.io/v1", "Lease")
}

/// Returns a pod as a ReplicaSet creates it; `node` if it is bound from the start.
pub(crate) fn pod(name: &str, namespace: &str, node: Option<&str>) -> Bytes {
    let metadata = Message::new()
        .text(1, name)
        .text(3, namespace)
        .pair(11, "app", "web")
        .pair(11, "pod-template-hash", "7d4b9c6f5")
        .pair(12, "example.com/checksum", "0123456789abcdef0123456789abcdef");
    let quantity = |field, name, amount| {
        Message::new()
            .message(field, &Message::new().text(1, name).message(2, &Message::new().text(1, amount)))
    };
    let mut container = Message::new()
        .text(1, "main")
        .text(2, "registry.example.com/team/app:v1.2.3")
        .text(4, "--listen=:8080")
        .text(4, "--log-level=info")
        .message(6, &Message::new().text(1, "http").number(3, 8080).text(4, "TCP"))
        .message(8, &quantity(2, "cpu", "100m"))
        .message(8, &quantity(1, "memory", "256Mi"))
        .message(9, &Message::new().text(1, "config").text(3, "/etc/app"))
        .message(9, &Message::new().text(1, "token").text(3, "/etc/token"));
    for variable in 0..8 {
        let variable = Message::new().text(1, &format!("VARIABLE_{variable}")).text(2, "a-value-of-it");
        container = container.message(7, &variable);
    }
    let config = Message::new().message(1, &Message::new().text(1, "app"));
    let config = Message::new().text(1, "config").message(2, &Message::new().message(19, &config));
    let secret = Message::new().text(1, "token");
    let secret = Message::new().text(1, "token").message(2, &Message::new().message(6, &secret));
    let mut spec = Message::new()
        .message(1, &config)
        .message(1, &secret)
        .message(2, &container)
        .text(3, "Always")
        .text(6, "ClusterFirst");
    if let Some(node) = node {
        spec = spec.text(10, node);
    }
    Message::new().message(1, &metadata).message(2, &spec).object("v1", "Pod")
}

/// Returns a binding of a pod. Its annotations are copied to the pod.
pub(crate) fn binding(pod: &str, namespace: &str, node: &str, mark: &str) -> Bytes {
    let metadata = Message::new().text(1, pod).text(3, namespace).pair(12, "apibench", mark);
    let target = Message::new().text(1, "Node").text(3, node);
    Message::new().message(1, &metadata).message(2, &target).object("v1", "Binding")
}

/// Returns a kubelet's report of a pod status.
pub(crate) fn pod_status(ready: bool, mark: &str, time: &str, ip: u64) -> String {
    let status = if ready { "True" } else { "False" };
    let address = ipv4(ip);
    let mut conditions = String::new();
    for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        let comma = if conditions.is_empty() { "" } else { "," };
        let _ = write!(
            conditions,
            r#"{comma}{{"type":"{kind}","status":"{status}","lastTransitionTime":"{time}"}}"#
        );
    }
    format!(
        r#"{{"metadata":{{"annotations":{{"apibench":"{mark}"}}}},"status":{{"phase":"Running","hostIP":"10.0.0.1","podIP":"{address}","podIPs":[{{"ip":"{address}"}}],"startTime":"{time}","conditions":[{conditions}],"containerStatuses":[{{"name":"main","image":"registry.example.com/team/app:v1.2.3","imageID":"registry.example.com/team/app@sha256:0123456789abcdef","containerID":"containerd://0123456789abcdef","ready":{ready},"started":{ready},"restartCount":0,"state":{{"running":{{"startedAt":"{time}"}}}}}}]}}}}"#
    )
}

/// Returns an event about a pod.
pub(crate) fn event(name: &str, namespace: &str, pod: &str, reason: &str, seconds: u64) -> Bytes {
    let metadata = Message::new().text(1, name).text(3, namespace);
    let about = Message::new().text(1, "Pod").text(2, namespace).text(3, pod).text(5, "v1");
    let time = Message::new().number(1, seconds);
    Message::new()
        .message(1, &metadata)
        .message(2, &about)
        .text(3, reason)
        .text(4, "Something happened to the pod, and this sentence says what")
        .message(5, &Message::new().text(1, "kubelet").text(2, "node"))
        .message(6, &time)
        .message(7, &time)
        .number(8, 1)
        .text(9, "Normal")
        .object("v1", "Event")
}

/// Returns an EndpointSlice of the namespace's Service.
pub(crate) fn endpoint_slice(namespace: &str, mark: &str, salt: u64) -> Bytes {
    let metadata = Message::new()
        .text(1, "web-abcde")
        .text(3, namespace)
        .pair(11, "kubernetes.io/service-name", "web")
        .pair(12, "apibench", mark);
    let mut slice = Message::new().message(1, &metadata);
    for endpoint in 0..ENDPOINTS {
        let target = Message::new().text(1, "Pod").text(2, namespace).text(3, &pod_name(salt + endpoint));
        let ready = Message::new().number(1, 1).number(2, 1).number(3, 0);
        let endpoint = Message::new()
            .text(1, &ipv4(salt + endpoint))
            .message(2, &ready)
            .message(4, &target)
            .text(6, &node_name(endpoint));
        slice = slice.message(2, &endpoint);
    }
    let port = Message::new().text(1, "http").text(2, "TCP").number(3, 8080);
    slice.message(3, &port).text(4, "IPv4").object("discovery.k8s.io/v1", "EndpointSlice")
}

/// Returns the other objects of a namespace: path and body.
pub(crate) fn of_namespace(namespace: &str) -> [(String, String); 6] {
    let core = |resource: &str| format!("/api/v1/namespaces/{namespace}/{resource}");
    let object = |version: &str, kind: &str, name: &str, rest: &str| {
        format!(r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"{name}"}}{rest}}}"#)
    };
    let filler = crate::bodies::filler();
    [
        ("/api/v1/namespaces".to_owned(), object("v1", "Namespace", namespace, "")),
        (core("serviceaccounts"), object("v1", "ServiceAccount", "default", "")),
        (
            core("configmaps"),
            object("v1", "ConfigMap", "app", &format!(r#","data":{{"config":"{filler}"}}"#)),
        ),
        (core("secrets"), object("v1", "Secret", "token", r#","stringData":{"token":"not-a-secret"}"#)),
        (
            core("services"),
            object(
                "v1",
                "Service",
                "web",
                r#","spec":{"selector":{"app":"web"},"clusterIP":"None","ports":[{"name":"http","port":80}]}"#,
            ),
        ),
        (
            format!("/apis/apps/v1/namespaces/{namespace}/replicasets"),
            object(
                "apps/v1",
                "ReplicaSet",
                "web",
                r#","spec":{"replicas":200,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"app:v1"}]}}}"#,
            ),
        ),
    ]
}

/// Returns the CRD.
pub(crate) fn definition() -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.{GROUP}"}},"spec":{{"group":"{GROUP}","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},"versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"size":{{"type":"integer","minimum":0}},"image":{{"type":"string"}},"selector":{{"type":"object","additionalProperties":{{"type":"string"}}}}}}}},"status":{{"type":"object","properties":{{"phase":{{"type":"string"}},"observed":{{"type":"integer"}},"conditions":{{"type":"array","items":{{"type":"object","properties":{{"type":{{"type":"string"}},"status":{{"type":"string"}},"message":{{"type":"string"}}}}}}}}}}}}}}}}}}}}]}}}}"#
    )
}

/// Returns a custom resource.
pub(crate) fn widget(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{{"size":3,"image":"registry.example.com/team/widget:v1","selector":{{"app":"web"}}}}}}"#
    )
}

/// Returns an operator's status report of a custom resource.
pub(crate) fn widget_status(mark: &str, observed: u64) -> String {
    format!(
        r#"{{"metadata":{{"annotations":{{"apibench":"{mark}"}}}},"status":{{"phase":"Ready","observed":{observed},"conditions":[{{"type":"Ready","status":"True","message":"{mark}"}},{{"type":"Progressing","status":"False","message":"done"}}]}}}}"#
    )
}

fn ipv4(number: u64) -> String {
    format!("10.{}.{}.{}", 1 + (number >> 16) % 200, (number >> 8) % 256, number % 254 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_bodies_are_valid() {
        let mut bodies: Vec<String> = of_namespace("n").map(|(_, body)| body).to_vec();
        bodies.extend([node("n"), node_status("m", "t"), pod_status(true, "m", "t", 7)]);
        bodies.extend([definition(), widget("w"), widget_status("m", 3)]);
        for body in bodies {
            assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{body}");
        }
    }

    #[test]
    fn generated_addresses_are_valid() {
        for number in [0, 255, 256, 65_536, u64::from(u32::MAX)] {
            assert!(ipv4(number).parse::<std::net::Ipv4Addr>().is_ok(), "{number}");
        }
    }
}
