//! Deletes the objects of a deleted CRD before the CRD itself.

use std::time::Duration;

use ::api::options::{DeleteOptions, ListOptions};
use ::api::resources::Handle;
use apimachinery::status::Reason;
use jsontree::Value;
use registry::generic::{AdmitAll, DeleteRequest, ListPage};
use registry::{Client, Registry, Target, meta};
use schema::object::Object;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::conditions::set_terminating;
use super::definitions::{CLEANUP_FINALIZER, Definition};

/// Maximum number of concurrent cleanups.
const CLEANUPS_MAX: usize = 8;
/// Maximum wait for objects with finalizers, before a failure is reported and the cleanup is retried.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Poll interval for remaining objects: first and maximum.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Delay after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Condition: status, reason, message.
type Verdict = (&'static str, &'static str, String);

/// Cleanup of CRDs.
pub(super) struct Cleanup {
    registry: Registry,
    status: Client,
    slots: Semaphore,
}

impl Cleanup {
    /// Deletes objects through `registry`, and writes CRDs with `status`.
    pub(super) fn new(registry: Registry, status: Client) -> Self {
        Cleanup { registry, status, slots: Semaphore::new(CLEANUPS_MAX) }
    }

    /// Deletes all objects and removes the finalizer of the CRD. `row` is the resource of its objects, if
    /// they are served.
    pub(super) async fn run(&self, definition: &Definition, row: Option<Handle>) {
        // The semaphore is never closed.
        let Ok(_slot) = self.slots.acquire().await else { return };
        let progress =
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress".to_owned());
        if !self.write_condition(definition, &progress, false).await {
            return;
        }
        let (verdict, done) = match row.filter(|_| definition.is("Established")) {
            None => (("False", "NeverEstablished", "resource was never established".to_owned()), true),
            Some(row) => match self.delete_all(&row).await {
                Ok(()) => (("False", "InstanceDeletionCompleted", "removed all instances".to_owned()), true),
                Err(verdict) => (verdict, false),
            },
        };
        self.write_condition(definition, &verdict, done).await;
        if !done {
            sleep(RETRY).await;
        }
    }

    async fn delete_all(&self, row: &Handle) -> Result<(), Verdict> {
        let failed = |reason| move |message: String| ("True", reason, message);
        let target = Target { resource: row.row(), namespace: "", name: "" };
        let options = DeleteOptions::default();
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        let deleted = self.registry.delete_collection(&target, &ListOptions::default(), &request).await;
        deleted
            .map_err(|status| format!("could not issue all deletes: {}", status.message))
            .map_err(failed("InstanceDeletionFailed"))?;
        let deadline = Instant::now() + WAIT_MAX;
        let mut pause = PAUSES.0;
        loop {
            let options = ListOptions { limit: 1, ..ListOptions::default() };
            // An object that cannot be decoded is not deleted. Its key would stay in the store.
            let remaining = self.registry.list(&target, &options).await.and_then(ListPage::complete);
            match remaining.map(|page| page.items.iter().next().is_none()) {
                Ok(true) => return Ok(()),
                Ok(false) if Instant::now() < deadline => {}
                Ok(false) => {
                    let text = "could not confirm zero CustomResources remaining: timed out waiting for the condition";
                    return Err(failed("InstanceDeletionCheck")(text.to_owned()));
                }
                Err(status) => {
                    let text =
                        format!("could not confirm zero CustomResources remaining: {}", status.message);
                    return Err(failed("InstanceDeletionCheck")(text));
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Writes a condition, and removes the finalizer if `done`. Returns true if the finalizer is gone.
    async fn write_condition(&self, definition: &Definition, verdict: &Verdict, done: bool) -> bool {
        let now = self.status.now();
        let desired = |current: Option<&Object>| {
            let current = current.filter(|current| meta::text(current, "uid") == definition.uid)?;
            let mut new = current.clone();
            let (status, reason, message) = verdict.clone();
            set_terminating(&mut new, status, reason, message, now);
            if done {
                remove_finalizer(&mut new);
            }
            (&new != current).then_some(new)
        };
        match self.status.reconcile("", &definition.name, &desired).await {
            Ok(reconciled) => reconciled.object.is_some(),
            Err(status) => {
                if status.reason != Reason::NotFound {
                    let name = &definition.name;
                    let error = &status.message;
                    tracing::warn!(name, error, "a deleted definition's status could not be written");
                    sleep(RETRY).await;
                }
                false
            }
        }
    }
}

fn remove_finalizer(definition: &mut Object) {
    let metadata = meta::metadata_mut(definition);
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.retain(|name| name != CLEANUP_FINALIZER);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
}
