//! Default objects of a namespace, and its deletion (upstream's `serviceaccount`, `rootcacertpublisher` and
//! `namespace/deletion` controllers).

use std::sync::Arc;
use std::time::Duration;

use api::options::{DeleteOptions, ListOptions};
use api::{meta, tree};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use jsontree::{Value, json};
use registry::client::{Client, LookupError, ReadFreshness};
use registry::generic::{AdmitAll, DeleteRequest};
use registry::{Registry, Result, Target};
use schema::object::{self, Object};

use super::FIELD_MANAGER;
use super::conditions::{ContentReport, set_conditions};
use super::queue::Outcome;
use super::remote::RemoteContent;
use super::resources::{ManagedResource, ResourceTable};
use super::stored_meta::StoredMeta;
use crate::desired_state;

/// The finalizer in `spec.finalizers` of every namespace.
const FINALIZER: &str = "kubernetes";
/// Resource whose objects are deleted before all others.
const PODS: &str = "pods";
/// Maximum number of resources that are emptied at the same time.
const RESOURCES_MAX: usize = 8;
/// Delay of the next attempt while objects remain, unless one of them is removed earlier (upstream's estimate
/// for finalizers).
const REMAINING_DELAY: Duration = Duration::from_secs(15);

/// Name of the default service account.
pub(super) const ACCOUNT: &str = "default";
/// Name of the ConfigMap with the CA bundle.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_ANNOTATION: &str = "kubernetes.io/description";
const ROOT_CA_DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using \
     internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed \
     across distributions of Kubernetes clusters.";

/// Reconciles namespaces.
#[derive(Clone)]
pub(super) struct Namespaces {
    registry: Registry,
    namespaces: Client,
    status: Client,
    finalize: Client,
    accounts: Client,
    config_maps: Client,
    /// PEM certificates.
    root_ca: Arc<str>,
    remote: Arc<dyn RemoteContent>,
}

impl Namespaces {
    /// # Errors
    /// A resource of the core group is not served.
    pub(super) fn new(
        registry: &Registry,
        root_ca: Arc<str>,
        remote: Arc<dyn RemoteContent>,
    ) -> std::result::Result<Self, LookupError> {
        let client = |plural| {
            Ok::<_, LookupError>(Client::find(registry, "", plural)?.with_field_manager(FIELD_MANAGER))
        };
        let namespaces = client("namespaces")?;
        Ok(Namespaces {
            registry: registry.clone(),
            status: namespaces.clone().with_subresource("status")?,
            finalize: namespaces.clone().with_subresource("finalize")?,
            namespaces,
            accounts: client("serviceaccounts")?,
            config_maps: client("configmaps")?,
            root_ca,
            remote,
        })
    }

    /// Creates the default objects of an active namespace, or deletes the content of a terminating one.
    ///
    /// # Errors
    /// The attempt must be repeated.
    pub(super) async fn reconcile(&self, table: &ResourceTable, name: &str) -> Result<Outcome> {
        let Some(namespace) = self.namespaces.get("", name, ReadFreshness::Latest).await? else {
            return Ok(Outcome::Done);
        };
        if meta::is_deleting(&namespace) {
            return self.delete(table, name, &namespace).await;
        }
        self.create_account(name).await?;
        self.publish_root_ca(name).await?;
        Ok(Outcome::Done)
    }

    async fn create_account(&self, namespace: &str) -> Result<()> {
        let desired = |current: Option<&Object>| {
            let account = json!({"metadata": {"name": ACCOUNT, "namespace": namespace}});
            desired_state::create_if_missing(current, &desired_state::object(account))
        };
        self.accounts.reconcile(namespace, ACCOUNT, &desired).await.map(drop)
    }

    async fn publish_root_ca(&self, namespace: &str) -> Result<()> {
        if self.root_ca.is_empty() {
            return Ok(());
        }
        let desired = |current: Option<&Object>| root_ca(current, namespace, &self.root_ca);
        self.config_maps.reconcile(namespace, ROOT_CA, &desired).await.map(drop)
    }

    async fn delete(&self, table: &ResourceTable, name: &str, namespace: &Object) -> Result<Outcome> {
        self.mark_terminating(name, namespace).await?;
        if object::get_list(namespace, &["spec", "finalizers"]).is_empty() {
            return Ok(Outcome::Done);
        }
        let report = self.delete_content(table, name, namespace).await;
        self.write_conditions(name, namespace, &report).await?;
        if report.has_failed() {
            let errors = report.errors.iter().chain(&report.discovery_error);
            let reason = errors.map(String::as_str).collect::<Vec<_>>().join(", ");
            tracing::debug!(%name, reason, "the content of the namespace cannot be deleted yet");
            return Ok(Outcome::Failed);
        }
        if !report.is_clean() {
            return Ok(Outcome::After(REMAINING_DELAY));
        }
        let finish = |current: Option<&Object>| without_finalizer(same(current, namespace)?);
        self.finalize.reconcile("", name, &finish).await?;
        Ok(Outcome::Done)
    }

    async fn mark_terminating(&self, name: &str, namespace: &Object) -> Result<()> {
        let desired = |current: Option<&Object>| {
            let mut desired = same(current, namespace)?.clone();
            if object::get_str(&desired, &["status", "phase"]) == Some("Terminating") {
                return None;
            }
            object::set(&mut desired, &["status", "phase"], "Terminating");
            Some(desired)
        };
        self.status.reconcile("", name, &desired).await.map(drop)
    }

    async fn write_conditions(&self, name: &str, namespace: &Object, report: &ContentReport) -> Result<()> {
        let now = self.registry.now().rfc3339().to_string();
        let desired = |current: Option<&Object>| {
            let mut desired = same(current, namespace)?.clone();
            set_conditions(&mut desired, report, &now).then_some(desired)
        };
        self.status.reconcile("", name, &desired).await.map(drop)
    }

    /// Deletes the pods and then, if none remains, everything else.
    async fn delete_content(&self, table: &ResourceTable, name: &str, namespace: &Object) -> ContentReport {
        if let Some(pods) = table.find(PODS) {
            let deleted_at = meta::deletion_seconds(namespace).unwrap_or_default();
            let pods = self.empty(pods, name, deleted_at).await;
            if !pods.is_clean() {
                return pods;
            }
        }
        let mut each: Vec<BoxFuture<'_, ContentReport>> = Vec::new();
        for resource in table.namespaced() {
            if &*resource.prefix != PODS {
                each.push(self.empty(resource, name, 0).boxed());
            }
        }
        let mut reports = stream::iter(each).buffer_unordered(RESOURCES_MAX);
        let mut report = ContentReport::default();
        while let Some(of_resource) = reports.next().await {
            report.merge(of_resource);
        }
        report.merge(self.remote.delete_all(name).await);
        report
    }

    /// Deletes all objects of a resource in a namespace. `deleted_at` is the deletion time of the namespace in
    /// Unix seconds, if its objects are pods.
    async fn empty(&self, resource: &ManagedResource, namespace: &str, deleted_at: i64) -> ContentReport {
        let mut report = ContentReport::default();
        if let Err(status) = self.try_empty(resource, namespace, deleted_at, &mut report).await {
            report.add_error(&status.message);
        }
        report
    }

    async fn try_empty(
        &self,
        resource: &ManagedResource,
        namespace: &str,
        deleted_at: i64,
        report: &mut ContentReport,
    ) -> Result<()> {
        let target = Target { resource: resource.row(), namespace, name: "" };
        let all = ListOptions::default();
        let page = self.registry.list(&target, &all).await?.complete()?;
        if page.items.iter().next().is_none() {
            return Ok(());
        }
        let grace = page.items.iter().filter_map(|pod| grace_seconds(&target, pod.value().ok()?)).max();
        let options =
            DeleteOptions { propagation_policy: Some("Background".to_owned()), ..DeleteOptions::default() };
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        self.registry.delete_collection(&target, &all, &request).await?;
        let page = self.registry.list(&target, &all).await?.complete()?;
        let storage = target.resource.stored_form();
        let mut count = 0;
        for item in page.items.iter() {
            count += 1;
            let Some(stored) = item.value().ok().and_then(|bytes| StoredMeta::read(storage, bytes)) else {
                continue;
            };
            for finalizer in stored.finalizers() {
                report.add_finalizer(finalizer);
            }
        }
        if count == 0 {
            return Ok(());
        }
        report.remaining.insert(resource.group_resource(), count);
        let is_graceful =
            grace.is_some_and(|grace| self.registry.now().seconds < deleted_at.saturating_add(grace));
        if report.finalizers.is_empty() && !is_graceful {
            let row = resource.row();
            report.add_error(&format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {}/{}, Resource={}",
                row.group, row.version, row.plural
            ));
        }
        Ok(())
    }
}

/// Returns the grace period of a pod that has not ended.
fn grace_seconds(target: &Target<'_>, bytes: &[u8]) -> Option<i64> {
    if target.resource.plural != PODS || !target.resource.group.is_empty() {
        return None;
    }
    let storage = target.resource.storage.as_ref()?;
    let stored = registry::StoredRef { key: "", value: bytes, revision: 0 };
    let pod = registry::codec::decode(storage, stored).ok()?;
    let phase = object::get_str(&pod, &["status", "phase"]).unwrap_or("");
    if matches!(phase, "Succeeded" | "Failed") {
        return None;
    }
    tree::maybe_integer(tree::child(&pod, "spec")?, "terminationGracePeriodSeconds")
}

/// Returns the current namespace if it is the same one.
fn same<'o>(current: Option<&'o Object>, namespace: &Object) -> Option<&'o Object> {
    current.filter(|current| meta::text(current, "uid") == meta::text(namespace, "uid"))
}

/// Returns a namespace without the finalizer; `None` if it has none.
fn without_finalizer(namespace: &Object) -> Option<Object> {
    let mut desired = namespace.clone();
    let spec = desired.get_mut("spec")?.as_object_mut()?;
    let finalizers = spec.get_mut("finalizers")?.as_array_mut()?;
    let before = finalizers.len();
    finalizers.retain(|finalizer| finalizer.as_str() != Some(FINALIZER));
    let is_changed = finalizers.len() < before;
    if finalizers.is_empty() {
        spec.remove("finalizers");
    }
    is_changed.then_some(desired)
}

/// Returns the desired ConfigMap; `None` if it is up to date.
fn root_ca(current: Option<&Object>, namespace: &str, bundle: &str) -> Option<Object> {
    let data = json!({ "ca.crt": bundle });
    let description = |current: &Object| {
        object::get_object(current, &["metadata", "annotations"])
            .and_then(|annotations| annotations.get(ROOT_CA_ANNOTATION))
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    if current.is_some_and(|current| current.get("data") == Some(&data) && description(current)) {
        return None;
    }
    let mut desired = current.cloned().unwrap_or_else(|| {
        desired_state::object(json!({"metadata": {"name": ROOT_CA, "namespace": namespace}}))
    });
    desired.insert("data", data);
    let metadata = meta::metadata_mut(&mut desired);
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations.as_object_mut()?.insert(ROOT_CA_ANNOTATION, ROOT_CA_DESCRIPTION.into());
    Some(desired)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::desired_state::object as tree_of;

    #[test]
    fn root_ca_is_restored() {
        let first = root_ca(None, "ns", "PEM").unwrap();
        assert_eq!(root_ca(Some(&first), "ns", "PEM"), None);
        let mut edited = first.clone();
        edited.insert("data", json!({"ca.crt": "other"}));
        assert_eq!(root_ca(Some(&edited), "ns", "PEM"), Some(first.clone()));
        let mut bare = first.clone();
        meta::metadata_mut(&mut bare).remove("annotations");
        assert_eq!(root_ca(Some(&bare), "ns", "PEM"), Some(first));
    }

    #[test]
    fn only_own_finalizer_is_removed() {
        let namespace = |finalizers: Value| tree_of(json!({"spec": {"finalizers": finalizers}}));
        let check = |before: Value, after: Option<Value>| {
            assert_eq!(without_finalizer(&namespace(before)), after.map(tree_of));
        };
        check(json!(["kubernetes"]), Some(json!({"spec": {}})));
        check(json!(["a", "kubernetes"]), Some(json!({"spec": {"finalizers": ["a"]}})));
        check(json!(["a"]), None);
    }
}
