//! `ServiceAccount` sets the service account of a pod and mounts its token at the path that clients expect
//! (upstream's `plugin/pkg/admission/serviceaccount`).

mod secrets;
#[cfg(test)]
mod tests;
mod token_volume;

use std::sync::Arc;
use std::time::Duration;

use api::references::{Kind, MIRROR_ANNOTATION, Referrer};
use api::resources::{self, Resource};
use api::tree::{child, child_mut, children, list, maybe_flag, text};
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use async_trait::async_trait;
use jsontree::{Value, json};
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Environment, Objects, Operation, Plugin, Verdict, meta};

/// The default account of a pod. A controller creates it shortly after the namespace.
const DEFAULT: &str = "default";
/// Number of look-ups of the default account before it counts as missing.
const DEFAULT_ATTEMPTS: usize = 10;
/// The annotation that limits pods to the secrets listed in their account (deprecated).
const ENFORCE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub struct ServiceAccount {
    objects: Arc<dyn Objects>,
    environment: Arc<dyn Environment>,
    accounts: &'static Resource<'static>,
}

impl ServiceAccount {
    /// Looks up accounts in `objects`; uses `environment` for delays and random numbers. `None` if accounts are
    /// not served.
    pub fn new(objects: Arc<dyn Objects>, environment: Arc<dyn Environment>) -> Option<Self> {
        let accounts = resources::find("", "v1", "serviceaccounts", "")?;
        Some(ServiceAccount { objects, environment, accounts })
    }

    /// Returns the account of a pod, or the rejection.
    async fn account(&self, a: &Attributes<'_>, name: &str) -> Result<Arc<Object>, Box<Status>> {
        match self.look_up(a.namespace, name).await {
            Ok(account) => Ok(account),
            Err(status) => Err(a.forbidden(format!(
                "error looking up service account {}/{name}: {}",
                a.namespace, status.message
            ))),
        }
    }

    async fn look_up(&self, namespace: &str, name: &str) -> Result<Arc<Object>, Box<Status>> {
        if let Some(account) = self.objects.cached(self.accounts, namespace, name).await? {
            return Ok(account);
        }
        let attempts = if name == DEFAULT { DEFAULT_ATTEMPTS } else { 1 };
        let interval = Duration::from_millis(100 + u64::from(self.environment.random_number() % 100));
        for attempt in 0..attempts {
            if attempt > 0 {
                self.environment.sleep(interval).await;
            }
            if let Some(account) = self.objects.get(self.accounts, namespace, name).await? {
                return Ok(account);
            }
        }
        Err(Status::not_found(&GroupResource::new("", "serviceaccount"), name).into())
    }

    /// Validates a new pod.
    async fn check_pod(&self, a: &Attributes<'_>, pod: &Object) -> Verdict {
        let Some(spec) = child(pod, "spec") else { return Ok(()) };
        if meta::annotation(pod, MIRROR_ANNOTATION).is_some() {
            return mirror(pod, spec).map_err(|cause| a.forbidden(cause));
        }
        let name = text(spec, "serviceAccountName");
        if name.is_empty() {
            return Err(a.forbidden(no_account(a)));
        }
        let account = self.account(a, name).await?;
        if limits_secrets(&account) {
            secrets::check(&account, spec).map_err(|cause| a.forbidden(cause))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Plugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        match a.operation {
            Operation::Create => a.is_pod(),
            Operation::Update => a.is("", "pods", "ephemeralcontainers"),
            Operation::Delete | Operation::Connect => false,
        }
    }

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        if !a.creates() {
            return Ok(());
        }
        if meta::annotation(pod, MIRROR_ANNOTATION).is_some() {
            return self.check_pod(a, pod).await;
        }
        let Some(spec) = child_mut(pod, "spec") else { return Ok(()) };
        let name = match text(spec, "serviceAccountName") {
            "" => DEFAULT.to_owned(),
            name => name.to_owned(),
        };
        // `serviceAccount` is the older name of this field in v1. Both are always written.
        spec.insert("serviceAccountName", Value::from(&*name));
        spec.insert("serviceAccount", Value::from(&*name));
        let account = self.account(a, &name).await?;
        let automount = "automountServiceAccountToken";
        if maybe_flag(spec, automount).or_else(|| maybe_flag(&account, automount)).unwrap_or(true) {
            token_volume::mount(spec, &mut || self.environment.random_number());
        }
        if list(spec, "imagePullSecrets").is_empty() {
            let secrets: Vec<Value> = children(&account, "imagePullSecrets")
                .map(|secret| json!({"name": text(secret, "name")}))
                .collect();
            if !secrets.is_empty() {
                spec.insert("imagePullSecrets", Value::Array(secrets));
            }
        }
        if limits_secrets(&account) {
            secrets::check(&account, spec).map_err(|cause| a.forbidden(cause))
        } else {
            Ok(())
        }
    }

    async fn validate(&self, a: &Attributes<'_>, pod: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        if a.creates() {
            return self.check_pod(a, pod).await;
        }
        let Some(spec) = child(pod, "spec") else { return Ok(()) };
        let name = text(spec, "serviceAccountName");
        if name.is_empty() {
            return Err(a.forbidden(no_account(a)));
        }
        let account = self.account(a, name).await?;
        if limits_secrets(&account) {
            // Upstream returns a plain error here, not a Forbidden.
            secrets::check_ephemeral(&account, spec).map_err(|cause| Status::unmapped(cause.0).into())
        } else {
            Ok(())
        }
    }
}

fn no_account(a: &Attributes<'_>) -> String {
    format!("no service account specified for pod {}/{}", a.namespace, a.name)
}

/// True if pods may use only the secrets listed in their account.
fn limits_secrets(account: &Object) -> bool {
    // The values that Go's `strconv.ParseBool` accepts as true.
    let word = meta::annotation(account, ENFORCE_SECRETS);
    word.is_some_and(|word| matches!(word, "1" | "t" | "T" | "TRUE" | "true" | "True"))
}

/// Rejects mirror pods that reference objects from the server.
fn mirror(pod: &Object, spec: &Object) -> Result<(), &'static str> {
    if !text(spec, "serviceAccountName").is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if Referrer::tree(pod).of_pod().iter().any(|(kind, _)| *kind == Kind::Secret) {
        return Err("a mirror pod may not reference secrets");
    }
    let projected = children(spec, "volumes").filter_map(|volume| child(volume, "projected"));
    if projected.flat_map(|volume| children(volume, "sources")).any(|s| s.contains_key("serviceAccountToken"))
    {
        Err("a mirror pod may not use ServiceAccountToken volume projections")
    } else {
        Ok(())
    }
}
