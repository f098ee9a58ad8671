//! Allocations of the stages of a request: of each section between two events of its trace spans. The request skips the
//! connection and the handler chain.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use apimachinery::query::Query;
use apimachinery::request_context::RequestContext;
use apimachinery::request_info::request_info;
use apimachinery::user_info::UserInfo;
use authorization::{AlwaysAllow, authorize};
use component_base::trace::{Attribute, Kind, Span, SpanRecorder};
use controlplane::test_cluster::TestServer;
use endpoints::routing::dispatch::Request;
use http_body_util::{BodyExt, Full};

use crate::client::Call;
use crate::counter::Allocations;

/// Stages of a request.
#[derive(Debug)]
struct Log {
    stages: BTreeMap<String, Allocations>,
    /// End of the last stage.
    last: Allocations,
}

/// A span that measures the stage before each of its events.
#[derive(Debug)]
struct StageRecorder {
    span: String,
    log: Arc<Mutex<Log>>,
}

impl StageRecorder {
    fn end_stage(&self, event: &str) {
        let now = Allocations::now();
        let mut log = self.log.lock().unwrap();
        let spent = now - log.last;
        *log.stages.entry(format!("{}: {event}", self.span)).or_default() += spent;
        // The log's own allocations belong to no stage.
        log.last = Allocations::now();
    }
}

impl SpanRecorder for StageRecorder {
    fn child(&self, name: String, _: Kind, _: Vec<Attribute>) -> Arc<dyn SpanRecorder> {
        self.end_stage(&format!("start of {name}"));
        Arc::new(StageRecorder { span: name, log: Arc::clone(&self.log) })
    }

    fn set(&self, _: Attribute) {}

    fn event(&self, name: &'static str, _: Vec<Attribute>) {
        self.end_stage(name);
    }

    fn failed(&self, _: &str) {}

    fn headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Drop for StageRecorder {
    fn drop(&mut self) {
        self.end_stage("end");
    }
}

/// Returns the allocations of the stages of a call.
pub(crate) async fn of(server: &TestServer, call: &Call) -> BTreeMap<String, Allocations> {
    let (parts, ()) = call.head("").body(()).unwrap().into_parts();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = request_info(call.method, parts.uri.path(), &query).unwrap();
    let user = UserInfo { name: "operator".to_owned(), ..UserInfo::default() };
    let authorized = authorize(&AlwaysAllow, user, &info).await.unwrap();
    let context = Arc::new(RequestContext { info, query, ..RequestContext::default() });
    let body = Full::new(call.body.clone()).map_err(|never| match never {}).boxed_unsync();
    let request = Request { parts, body, context, authorized };
    let log = Arc::new(Mutex::new(Log { stages: BTreeMap::new(), last: Allocations::now() }));
    let span = Span::recorded(Arc::new(StageRecorder { span: "request".to_owned(), log: Arc::clone(&log) }));
    let exchange = async {
        let mut body = server.dispatch().dispatch(request).await.into_body();
        while let Some(frame) = body.frame().await {
            drop(frame.unwrap());
        }
    };
    span.instrument(pin!(exchange)).await;
    let log = log.lock().unwrap();
    log.stages.clone()
}
