//! Tests of loopback requests, with a complete server.
#![allow(clippy::unwrap_used)]

use component_base::clock::TestClock;
use jsontree::{Value, json};

use super::*;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

#[tokio::test]
async fn only_a_certificate_that_has_expired_is_unhealthy() {
    let clock = Arc::new(TestClock::default());
    let check = Loopback::new(0).unwrap().check(clock.clone());
    assert_eq!(check.name(), "loopback-serving-certificate");
    assert!(check.check().await.is_ok());
    clock.advance_seconds(366 * 24 * 3600);
    assert_eq!(check.check().await.unwrap_err().to_string(), "loopback serving certificate is expired");
}

#[tokio::test]
async fn webhook_at_this_server_gets_loopback_credentials() {
    let server = TestServer::start().await.unwrap();
    let client = Client::of(&server);
    let service = json!({"namespace": "default", "name": "kubernetes", "path": "/nothing"});
    let hook = json!({
        "name": "itself.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "rules": [{
            "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
        }],
    });
    client.make(WEBHOOKS, json!({"metadata": {"name": "itself"}, "webhooks": [hook]})).await;
    let create = json!({"metadata": {"generateName": "a"}});
    let mut response = (201, Value::Null);
    // The webhook takes effect with the first request after the informer has seen it.
    while response.0 == 201 {
        response = client.send("POST", MAPS, create.clone()).await;
    }
    // A user without administrator permissions would get 403.
    let message = "Internal error occurred: failed calling webhook \"itself.example.com\": failed to call webhook: \
                   the server could not find the requested resource";
    assert_eq!((response.0, &response.1["message"]), (500, &json!(message)));
    server.stop().await;
}
