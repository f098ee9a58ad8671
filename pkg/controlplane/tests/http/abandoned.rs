//! Tests of writes whose client disconnects before anything is written.

use std::sync::{Arc, Mutex};

use apimachinery::query::Query;
use apimachinery::request_context::{ClientConnection, ConnectedGuard, RequestContext};
use apimachinery::request_info::request_info;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use async_trait::async_trait;
use authorization::{AlwaysAllow, Attributes, Authorizer, Decision, authorize};
use bytes::Bytes;
use controlplane::test_cluster::TestServer;
use endpoints::routing::dispatch::Request;
use http_body_util::{BodyExt, Full};

/// Authorizer that allows everything. Its decision on a create disconnects the client.
#[derive(Default)]
struct DisconnectingAuthorizer(Mutex<Option<ConnectedGuard>>);

#[async_trait]
impl Authorizer for DisconnectingAuthorizer {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        if attributes.verb == "create" {
            self.0.lock().unwrap().take();
        }
        Decision::Allow(Arc::default())
    }
}

/// Time at which the client of a write disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disconnect {
    Never,
    AtOnce,
    /// After admission, before the last check of the object.
    WhenAdmitted,
}

/// A write that creates an object.
struct Write {
    method: &'static str,
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
    /// Path of the created object.
    object: &'static str,
}

const POST: Write = Write {
    method: "POST",
    path: "/api/v1/namespaces/default/configmaps",
    content_type: "application/json",
    body: r#"{"metadata":{"name":"posted"}}"#,
    object: "/api/v1/namespaces/default/configmaps/posted",
};

const PUT: Write = Write {
    method: "PUT",
    path: "/apis/coordination.k8s.io/v1/namespaces/default/leases/put",
    content_type: "application/json",
    body: r#"{"metadata":{"name":"put"}}"#,
    object: "/apis/coordination.k8s.io/v1/namespaces/default/leases/put",
};

const APPLY: Write = Write {
    method: "PATCH",
    path: "/api/v1/namespaces/default/configmaps/applied?fieldManager=m",
    content_type: "application/apply-patch+yaml",
    body: r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"}}"#,
    object: "/api/v1/namespaces/default/configmaps/applied",
};

/// Passes a request to the dispatcher like the chain does. Returns the status code.
async fn send(
    server: &TestServer,
    method: &str,
    write: &Write,
    target: &str,
    connection: &ClientConnection,
) -> u16 {
    let request = http::Request::builder().method(method).uri(target);
    let (parts, ()) = request.header("content-type", write.content_type).body(()).unwrap().into_parts();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = request_info(method, parts.uri.path(), &query).unwrap();
    let user =
        UserInfo { name: "admin".to_owned(), groups: vec![GROUP_MASTERS.to_owned()], ..UserInfo::default() };
    let authorized = authorize(&AlwaysAllow, user, &info).await.unwrap();
    let context = RequestContext { info, query, client: connection.clone(), ..RequestContext::default() };
    let body = if method == "GET" { "" } else { write.body };
    let body = Full::new(Bytes::from_static(body.as_bytes())).map_err(|never| match never {}).boxed_unsync();
    let request = Request { parts, body, context: Arc::new(context), authorized };
    server.dispatch().dispatch(request).await.status().as_u16()
}

/// Checks the status codes of a write with a disconnecting client and of a later read.
async fn check(write: &Write, disconnect: Disconnect, code: u16, stored: u16) {
    let authorizer = Arc::new(DisconnectingAuthorizer::default());
    let server =
        TestServer::start_under(Some(Arc::clone(&authorizer) as Arc<dyn Authorizer>), |_| {}).await.unwrap();
    let connection = ClientConnection::default();
    match disconnect {
        Disconnect::Never => {}
        Disconnect::AtOnce => drop(connection.guard()),
        Disconnect::WhenAdmitted => *authorizer.0.lock().unwrap() = Some(connection.guard()),
    }
    let status = send(&server, write.method, write, write.path, &connection).await;
    let read_status = send(&server, "GET", write, write.object, &ClientConnection::default()).await;
    assert_eq!((status, read_status), (code, stored), "{} {disconnect:?}", write.method);
}

#[tokio::test]
async fn write_of_connected_client_is_stored() {
    for write in [POST, PUT, APPLY] {
        check(&write, Disconnect::Never, 201, 200).await;
    }
}

#[tokio::test]
async fn write_of_disconnected_client_is_not_stored() {
    for write in [POST, PUT, APPLY] {
        check(&write, Disconnect::AtOnce, 504, 404).await;
    }
}

#[tokio::test]
async fn disconnect_during_admission_prevents_write() {
    for write in [PUT, APPLY] {
        check(&write, Disconnect::WhenAdmitted, 504, 404).await;
    }
}
