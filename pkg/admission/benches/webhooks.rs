//! Benchmark: cost of a request that matches no webhook. The cost should stay below a microsecond for any
//! number of webhooks.

#![allow(clippy::disallowed_methods, reason = "benches take the time as it is")]

use std::sync::Arc;
use std::time::Duration;

use admission::dynamic::{DynamicAdmissionDeps, EditedObject, VersionConverter};
use admission::webhook::{
    Caller, Hook, Hooks, ReviewCallError, Target, ValidatingAdmissionWebhook, WebhookSource, Webhooks,
};
use admission::{AdmissionNotes, Attributes, ObjectError, Objects, Operation, Options, Plugin};
use api::resources::{self, Handle, Resource};
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use component_base::weakened::WeakenedDecisions;
use divan::{Bencher, black_box};
use futures::executor::block_on;
use jsontree::json;
use schema::object::Object;

fn main() {
    divan::main();
}

/// Webhook configuration whose webhooks are never called.
struct Host(Arc<Hooks>);

impl WebhookSource for Host {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        None
    }

    fn validating(&self) -> Option<Arc<Hooks>> {
        Some(Arc::clone(&self.0))
    }
}

#[async_trait]
impl Caller for Host {
    async fn call(&self, _: &Target, _: Vec<u8>, _: Duration) -> Result<Vec<u8>, ReviewCallError> {
        Err(ReviewCallError { message: "nobody is asked".to_owned(), code: 500, misconfigured: false })
    }

    fn uid(&self) -> String {
        String::new()
    }
}

#[async_trait]
impl Objects for Host {
    async fn cached(
        &self,
        _: &'static Resource<'static>,
        _: &str,
        _: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(None)
    }

    async fn get(
        &self,
        _: &'static Resource<'static>,
        _: &str,
        _: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(None)
    }

    async fn list(&self, _: &'static Resource<'static>, _: &str) -> Result<Vec<Arc<Object>>, Box<Status>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl VersionConverter for Host {
    fn generation(&self) -> u64 {
        1
    }

    fn equivalents(&self, _: &Resource<'_>) -> Vec<Handle> {
        Vec::new()
    }

    async fn to_version(
        &self,
        _: &Attributes<'_>,
        o: &Object,
        _: &Resource<'_>,
    ) -> Result<Object, Box<Status>> {
        Ok(o.clone())
    }

    fn to_json(&self, _: &Object, _: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        Ok(Vec::new())
    }

    async fn parse_json(
        &self,
        _: &Attributes<'_>,
        _: &[u8],
        _: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        Ok(EditedObject { object: Object::new(), shares_labels: false })
    }
}

/// Builds a plugin with `count` webhooks. No webhook matches pods.
fn plugin(count: usize) -> ValidatingAdmissionWebhook {
    let hook = |at: usize| {
        let rule = json!({
            "operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["*"], "resources": ["deployments"],
        });
        json!({
            "name": format!("hook-{at}.example.com"), "clientConfig": {"url": "https://localhost/"},
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
        })
    };
    let webhooks: Vec<_> = (0..count).map(hook).collect();
    let configuration = json!({"metadata": {"name": "all"}, "webhooks": webhooks});
    let configuration = configuration.as_object().cloned().unwrap_or_default();
    let hooks = Hook::all_of(&configuration).into_iter().map(Arc::new).collect();
    let host = Arc::new(Host(Arc::new(Hooks::new(hooks))));
    ValidatingAdmissionWebhook::new(Webhooks {
        source: Arc::clone(&host) as Arc<dyn WebhookSource>,
        caller: Arc::clone(&host) as Arc<dyn Caller>,
        deps: DynamicAdmissionDeps {
            versions: Arc::clone(&host) as Arc<dyn VersionConverter>,
            objects: host,
            authorizer: Arc::new(authorization::AlwaysAllow),
            now: Arc::new(std::time::Instant::now),
            run_blocking: Arc::new(|work| work()),
            conditions: Arc::default(),
            weakened: WeakenedDecisions::default(),
        },
        metrics: Arc::default(),
        excludes_reviews: true,
    })
}

#[divan::bench(args = [1, 1000])]
fn a_pod_that_no_webhook_is_asked_about(bencher: Bencher<'_, '_>, webhooks: usize) {
    let plugin = plugin(webhooks);
    let pod = Object::new();
    let user = UserInfo::default();
    let request = RequestContext::default();
    let Some(pods) = resources::find("", "v1", "pods", "") else { return };
    let attributes = Attributes {
        operation: Operation::Create,
        user: &user,
        resource: pods,
        endpoint: pods,
        namespace: "ns",
        name: "p",
        generate_name: "",
        old: None,
        options: Options::None,
        request: &request,
    };
    bencher.bench(|| {
        let handles = plugin.handles(black_box(&attributes));
        let done = block_on(plugin.validate(&attributes, Some(&pod), &mut AdmissionNotes::default()));
        assert!(handles && black_box(done).is_ok());
    });
}
