//! Tests of authentication methods, with a complete server.
#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::config::TokenWebhookConfig;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Returns the authenticated user of a client; `None` if unauthenticated.
async fn user_info(client: &Client) -> Option<Value> {
    let (code, review) = client.send("POST", REVIEWS, json!({})).await;
    (code == 201).then(|| review["status"]["userInfo"].clone())
}

/// Repeats the request until `right` holds, because writes take effect with a watch event.
async fn eventually(client: &Client, right: impl Fn(Option<&Value>) -> bool) {
    while !right(user_info(client).await.as_ref()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bootstrap_token_is_valid_while_secret_exists() {
    let server =
        TestServer::start_with(|config| config.authentication.bootstrap_tokens = true).await.unwrap();
    let admin = Client::of(&server);
    let node = Client::of(&server).with_token("abcdef.0123456789abcdef");
    assert_eq!(user_info(&node).await, None);
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    });
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    admin.ok("POST", secrets, secret).await;
    eventually(&node, |user| user.is_some()).await;
    let user = user_info(&node).await.unwrap();
    let groups = json!([
        "system:bootstrappers",
        "system:bootstrappers:kubeadm:default-node-token",
        "system:authenticated"
    ]);
    assert_eq!(user, json!({"username": "system:bootstrap:abcdef", "groups": groups}));
    admin.ok("DELETE", &format!("{secrets}/bootstrap-token-abcdef"), Value::Null).await;
    eventually(&node, |user| user.is_none()).await;
    server.stop().await;
}

/// Webhook that answers every request on its own connection, and reports the requests.
async fn webhook(response: String) -> (u16, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut read = vec![0; 1 << 16];
            let mut length = 0;
            while !read[..length].ends_with(b"}}") {
                length += stream.read(&mut read[length..]).await.unwrap();
            }
            let _ = sender.send(String::from_utf8_lossy(&read[..length]).into_owned());
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", response.len());
            stream.write_all(format!("{head}{response}").as_bytes()).await.unwrap();
        }
    });
    (port, receiver)
}

#[tokio::test]
async fn unknown_token_is_sent_to_webhook_once() {
    let user = json!({"username": "hook", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}});
    let review = json!({
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "status": {"authenticated": true, "user": user},
    });
    let (port, mut requests) = webhook(review.to_string()).await;
    let server = TestServer::start_with(|config| {
        let config_file = config.serving.cert_dir.join("hook.kubeconfig");
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k}}}}]\nclusters: [{{name: k, cluster: {{server: 'http://127.0.0.1:{port}/judge'}}}}]\n"
        );
        std::fs::write(&config_file, text).unwrap();
        let cache_ttl = std::time::Duration::from_secs(120);
        config.authentication.webhook =
            Some(TokenWebhookConfig { config_file, version: "v1".to_owned(), cache_ttl });
    })
    .await
    .unwrap();
    let client = Client::of(&server).with_token("strange");
    for _ in 0..2 {
        let mut expected = user.clone();
        expected["groups"] = json!(["g", "system:authenticated"]);
        assert_eq!(user_info(&client).await, Some(expected));
    }
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /judge?timeout=30s HTTP/1.1\r\n"), "{request}");
    let body: Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(body["spec"]["token"], "strange");
    assert!(requests.try_recv().is_err(), "asked once");
    server.stop().await;
}
