//! Tests of the objects of benchmarks and of the allocation gate: size as served, and managers.

use std::collections::BTreeSet;

use crate::client::{Client, JSON, ReadResponse};

#[path = "../../../../cmd/apibench/src/realistic.rs"]
mod objects;

use objects::{Pod, Write};

const PODS: &str = "/api/v1/namespaces/default/pods";
const NODES: &str = "/api/v1/nodes";
const GADGETS: &str = "/apis/apibench.example.com/v1/namespaces/default/gadgets";

/// Sends the writes of an object and reads it.
async fn written(client: &Client, collection: &str, name: &str, writes: &[Write]) -> ReadResponse {
    for write in writes {
        let target = write.target(collection, name);
        let headers = [("content-type", write.content_type)];
        let response = client.send(write.method, &target, &headers, write.body.to_string()).await;
        assert!(response.code < 300, "{target}: {}", response.json());
    }
    client.get(&format!("{collection}/{name}"), JSON).await
}

fn assert_size(object: &ReadResponse, kilobytes: usize) {
    let expected = kilobytes * 1000;
    let bytes = object.body.len();
    assert!(bytes.abs_diff(expected) <= expected / 10, "{bytes} bytes instead of {kilobytes} KB");
}

#[tokio::test]
async fn pods_have_their_size_and_five_managers() {
    let client = Client::start().await;
    for kilobytes in [4, 10, 50, 250] {
        let name = format!("pod-{kilobytes}");
        let pod = Pod { name: &name, app: 1, node: "node-1", kilobytes };
        let pod = written(&client, PODS, &name, &pod.writes()).await;
        assert_size(&pod, usize::try_from(kilobytes).unwrap());
        let pod = pod.json();
        let entries = pod["metadata"]["managedFields"].as_array().unwrap();
        let managers: BTreeSet<&str> =
            entries.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
        let expected =
            ["kube-controller-manager", "kube-scheduler", "kubectl", "kubelet", "sidecar-injector"];
        assert_eq!(managers, BTreeSet::from(expected));
    }
}

#[tokio::test]
async fn nodes_and_custom_objects_have_their_size() {
    let client = Client::start().await;
    assert_size(&written(&client, NODES, "node", &objects::node("node")).await, 50);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = objects::gadget_definition().to_string();
    client.send("POST", definitions, &[("content-type", JSON)], definition).await;
    while client.get(GADGETS, JSON).await.code != 200 {}
    let body = objects::gadget("gadget", "value").to_string();
    let gadget = client.send("POST", GADGETS, &[("content-type", JSON)], body).await;
    assert_size(&gadget, 8);
}
