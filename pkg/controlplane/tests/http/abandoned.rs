//! Claims about writes whose client has gone before anything was written.

use std::sync::{Arc, Mutex};

use apimachinery::query::Query;
use apimachinery::request_context::{Client as Patience, RequestContext, Waiting};
use apimachinery::request_info::request_info;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use async_trait::async_trait;
use authorization::{AlwaysAllow, Attributes, Authorizer, Decision, authorize};
use bytes::Bytes;
use controlplane::test_cluster::TestServer;
use endpoints::routing::dispatch::Request;
use http_body_util::{BodyExt, Full};

/// Lets everybody do everything. Asked whether something may be created, it has the client go that it was given.
#[derive(Default)]
struct Impatient(Mutex<Option<Waiting>>);

#[async_trait]
impl Authorizer for Impatient {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        if attributes.verb == "create" {
            self.0.lock().unwrap().take();
        }
        Decision::Allow(Arc::default())
    }
}

/// When the client of a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    Never,
    AtOnce,
    /// After the object was admitted, before it was looked at for the last time.
    WhenAdmitted,
}

/// A write that creates an object.
struct Write {
    method: &'static str,
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
    /// Where the object is then.
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

/// Hands a request over as the chain does; the code of the answer.
async fn send(server: &TestServer, method: &str, write: &Write, target: &str, patience: &Patience) -> u16 {
    let request = http::Request::builder().method(method).uri(target);
    let (parts, ()) = request.header("content-type", write.content_type).body(()).unwrap().into_parts();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = request_info(method, parts.uri.path(), &query).unwrap();
    let user =
        UserInfo { name: "admin".to_owned(), groups: vec![GROUP_MASTERS.to_owned()], ..UserInfo::default() };
    let authorized = authorize(&AlwaysAllow, user, &info).await.unwrap();
    let context = RequestContext { info, query, client: patience.clone(), ..RequestContext::default() };
    let body = if method == "GET" { "" } else { write.body };
    let body = Full::new(Bytes::from_static(body.as_bytes())).map_err(|never| match never {}).boxed_unsync();
    let request = Request { parts, body, context: Arc::new(context), authorized };
    server.dispatch().dispatch(request).await.status().as_u16()
}

/// What a write is answered with whose client goes, and what a read of the object finds.
async fn check(write: &Write, goes: Goes, code: u16, found: u16) {
    let authorizer = Arc::new(Impatient::default());
    let server =
        TestServer::start_under(Some(Arc::clone(&authorizer) as Arc<dyn Authorizer>), |_| {}).await.unwrap();
    let patience = Patience::default();
    match goes {
        Goes::Never => {}
        Goes::AtOnce => drop(patience.waiting()),
        Goes::WhenAdmitted => *authorizer.0.lock().unwrap() = Some(patience.waiting()),
    }
    let answered = send(&server, write.method, write, write.path, &patience).await;
    let read = send(&server, "GET", write, write.object, &Patience::default()).await;
    assert_eq!((answered, read), (code, found), "{} {goes:?}", write.method);
}

#[tokio::test]
async fn a_write_whose_client_stays_is_stored() {
    for write in [POST, PUT, APPLY] {
        check(&write, Goes::Never, 201, 200).await;
    }
}

#[tokio::test]
async fn nothing_is_stored_whose_client_has_gone() {
    for write in [POST, PUT, APPLY] {
        check(&write, Goes::AtOnce, 504, 404).await;
    }
}

#[tokio::test]
async fn nothing_is_stored_whose_client_goes_while_it_is_admitted() {
    for write in [PUT, APPLY] {
        check(&write, Goes::WhenAdmitted, 504, 404).await;
    }
}
