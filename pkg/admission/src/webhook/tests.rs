//! Test support for webhooks.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod mutating;
mod validating;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use futures::FutureExt;
use jsontree::{Value, json};
use schema::object::Object;

use super::*;
use crate::dynamic::{EditedObject, VersionConverter};
use crate::testing::{Store, Write, object};
use crate::{AdmissionNotes, Attributes, Chain, ObjectError, Plugin};

/// Fake webhooks by URL. Each returns its responses in order, then repeats the last one, always with the uid
/// of the review.
#[derive(Default)]
pub(super) struct World {
    responses: Mutex<BTreeMap<String, VecDeque<Result<Value, ReviewCallError>>>>,
    /// URLs and reviews, in order.
    pub(super) calls: Mutex<Vec<(String, Value)>>,
    timeouts: Mutex<Vec<Duration>>,
    hooks: Mutex<Option<Arc<Hooks>>>,
    /// Number of encoded objects.
    pub(super) encoded: Mutex<usize>,
    /// Error of every encoding.
    pub(super) unencodable: Mutex<Option<schema::patch::Error>>,
    weakened: WeakenedDecisions,
}

impl World {
    pub(super) fn set_responses(
        &self,
        url: &str,
        responses: impl IntoIterator<Item = Result<Value, ReviewCallError>>,
    ) {
        self.responses.lock().unwrap().insert(url.to_owned(), responses.into_iter().collect());
    }

    /// Configures webhooks. Each has its name as URL, and defaults for missing fields.
    pub(super) fn configure(&self, hooks: &[(&str, Value)]) {
        let full = hooks.iter().map(|(name, more)| {
            let mut hook = object(json!({
                "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": name}, "matchPolicy": "Equivalent",
                "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}],
            }));
            hook.extend(object(more.clone()));
            Value::Object(hook)
        });
        let full: Vec<Value> = full.collect();
        let configuration = object(json!({"metadata": {"name": "c"}, "webhooks": full}));
        let hooks = Hook::all_of(&configuration).into_iter().map(Arc::new).collect();
        *self.hooks.lock().unwrap() = Some(Arc::new(Hooks::new(hooks)));
    }

    pub(super) fn called_urls(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(url, _)| url.clone()).collect()
    }

    /// Returns the weakened decisions as kind, name and cause.
    pub(super) fn weakened(&self) -> Vec<(WeakenedKind, String, String)> {
        self.weakened.recent().into_iter().map(|one| (one.kind, one.name, one.cause)).collect()
    }

    pub(super) fn webhooks(self: &Arc<Self>) -> Webhooks {
        Webhooks {
            source: Arc::clone(self) as Arc<dyn WebhookSource>,
            caller: Arc::clone(self) as Arc<dyn Caller>,
            deps: DynamicAdmissionDeps {
                versions: Arc::clone(self) as Arc<dyn VersionConverter>,
                objects: Store::of([(
                    "namespaces",
                    json!({"metadata": {"name": "ns", "labels": {"env": "test"}}}),
                )]),
                authorizer: Arc::new(authorization::AlwaysAllow),
                now: Arc::new(std::time::Instant::now),
                run_blocking: Arc::new(|work| work()),
                conditions: Arc::default(),
                weakened: self.weakened.clone(),
            },
            metrics: Arc::default(),
            excludes_reviews: true,
        }
    }

    /// Runs a write through the plugins. Returns the object with its warnings, or the rejection.
    pub(super) fn admit(
        self: &Arc<Self>,
        write: &Write,
        value: Value,
        plugins: Vec<Box<dyn Plugin>>,
    ) -> Result<(Value, AdmissionNotes), Box<Status>> {
        let mut object = object(value);
        let name = crate::meta::text(&object, "name").to_owned();
        let attributes = write.attributes(&name);
        let mut notes = AdmissionNotes::default();
        let chain = Chain::new(plugins);
        let run = async {
            chain.mutate(&attributes, Some(&mut object), &mut notes).await?;
            chain.validate(&attributes, Some(&object), &mut notes).await
        };
        let done = run.now_or_never().unwrap();
        done.map(|()| (Value::Object(object), notes))
    }
}

/// Response that allows, with further fields.
pub(super) fn allowed(more: Value) -> Result<Value, ReviewCallError> {
    let mut response = object(json!({"allowed": true}));
    response.extend(object(more));
    Ok(Value::Object(response))
}

/// Response that rejects, with a Status.
pub(super) fn denied(status: Value) -> Result<Value, ReviewCallError> {
    Ok(json!({"allowed": false, "status": status}))
}

/// Response that allows with a patch.
pub(super) fn patch(operations: Value) -> Result<Value, ReviewCallError> {
    allowed(json!({"patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())}))
}

pub(super) fn broken() -> Result<Value, ReviewCallError> {
    Err(ReviewCallError { message: "connection refused".to_owned(), code: 503, misconfigured: false })
}

impl WebhookSource for World {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        self.hooks.lock().unwrap().clone()
    }

    fn validating(&self) -> Option<Arc<Hooks>> {
        self.mutating()
    }
}

#[async_trait]
impl Caller for World {
    async fn call(
        &self,
        target: &Target,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ReviewCallError> {
        let question: Value = serde_json::from_slice(&body).unwrap();
        let uid = question["request"]["uid"].clone();
        self.timeouts.lock().unwrap().push(timeout);
        self.calls.lock().unwrap().push((target.url.to_string(), question));
        let mut responses = self.responses.lock().unwrap();
        let queue = responses.get_mut(&*target.url).unwrap();
        let result = if queue.len() > 1 { queue.pop_front().unwrap() } else { queue[0].clone() };
        let mut response = object(result?);
        response.entry("uid").or_insert(uid);
        let review =
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response});
        Ok(review.to_string().into_bytes())
    }

    fn uid(&self) -> String {
        "u-1".to_owned()
    }
}

/// Only autoscalers have a second version.
#[async_trait]
impl VersionConverter for World {
    fn generation(&self) -> u64 {
        0
    }

    fn equivalents(&self, endpoint: &Resource<'_>) -> Vec<Handle> {
        let other = (endpoint.plural == "horizontalpodautoscalers" && endpoint.version == "v1").then(|| {
            api::resources::find("autoscaling", "v2", "horizontalpodautoscalers", endpoint.subresource)
        });
        other.flatten().map(Handle::from).into_iter().collect()
    }

    async fn to_version(
        &self,
        _: &Attributes<'_>,
        shown: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>> {
        let mut shown = shown.clone();
        shown.insert("apiVersion", at.kind_group_version.into());
        shown.insert("kind", at.kind.into());
        Ok(shown)
    }

    fn to_json(&self, object: &Object, _: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        *self.encoded.lock().unwrap() += 1;
        if let Some(error) = self.unencodable.lock().unwrap().clone() {
            return Err(error.into());
        }
        Ok(Value::Object(object.clone()).to_string().into_bytes())
    }

    async fn parse_json(
        &self,
        _: &Attributes<'_>,
        text: &[u8],
        _: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        let read: Value = serde_json::from_slice(text).unwrap();
        match read["spec"].get("nodeName") {
            Some(Value::Number(_)) => Err(ObjectError::Decode("nodeName is a number".into())),
            _ => Ok(EditedObject { object: object(read), shares_labels: false }),
        }
    }
}

pub(super) fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": {"hostname": "h"}})
}
