//! `ResourceQuota` rejects objects that exceed a namespace's quotas, and adds their usage to the quota status
//! before the write (upstream's `apiserver/pkg/admission/plugin/resourcequota`). A configuration can require
//! a quota for a resource.
//!
//! Each namespace processes one write at a time, so writes of one server do not conflict. Writes of different
//! servers use compare-and-swap.

mod check;
mod configuration;
mod evaluator;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, text};
use apimachinery::status::Status;
use async_trait::async_trait;
use futures::lock::{Mutex, MutexGuard};
use schema::object::{self, Object};

use crate::resource_list::ResourceList;
use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, Writes, meta};
use check::check;
pub use configuration::QuotaConfiguration;
use evaluator::Evaluator;

/// Maximum retries after a conflict with another writer.
const RETRIES: usize = 3;
/// Number of locks. Namespaces share them.
const STRIPES: usize = 64;
/// Maximum number of recently written quotas per lock. The cache may lag behind these writes.
const RECENT_MAX: usize = 256;

/// The last written version of each quota, by key.
type RecentWrites = BTreeMap<String, Arc<Object>>;

pub struct ResourceQuota {
    objects: Arc<dyn Objects>,
    writes: Arc<dyn Writes>,
    quotas: &'static Resource<'static>,
    configuration: QuotaConfiguration,
    stripes: Vec<Mutex<RecentWrites>>,
}

impl ResourceQuota {
    /// Looks up quotas in `objects` and updates usage with `writes`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>, writes: Arc<dyn Writes>) -> Option<Self> {
        let quotas = resources::find("", "v1", "resourcequotas", "")?;
        let stripes = (0..STRIPES).map(|_| Mutex::default()).collect();
        let configuration = QuotaConfiguration::default();
        Some(ResourceQuota { objects, writes, quotas, configuration, stripes })
    }

    /// Replaces the configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: QuotaConfiguration) -> Self {
        ResourceQuota { configuration, ..self }
    }

    async fn lock(&self, namespace: &str) -> Option<MutexGuard<'_, RecentWrites>> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(namespace);
        let stripe = usize::try_from(hash).unwrap_or_default() % STRIPES;
        Some(self.stripes.get(stripe)?.lock().await)
    }

    /// Returns the quotas of a namespace from the cache, or their recently written versions if those are
    /// newer.
    async fn recent_quotas(
        &self,
        namespace: &str,
        recent: &mut RecentWrites,
    ) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let mut quotas = self.objects.list(self.quotas, namespace).await?;
        for quota in &mut quotas {
            let key = key_of(quota);
            match recent.get(&key) {
                Some(written) if version(written) > version(quota) && is_same_object(written, quota) => {
                    *quota = Arc::clone(written);
                }
                Some(_) => drop(recent.remove(&key)),
                None => {}
            }
        }
        Ok(quotas)
    }

    /// Adds the usage of a write to the affected quotas. Returns the quotas that another writer changed
    /// first.
    async fn charge_usage(
        &self,
        quotas: &[Arc<Object>],
        used: Vec<(usize, ResourceList)>,
        recent: &mut RecentWrites,
    ) -> Result<(), (BTreeSet<String>, Box<Status>)> {
        let mut failed = None;
        for (index, used) in used {
            let Some(quota) = quotas.get(index) else { continue };
            let mut new = Object::clone(quota);
            object::set(&mut new, &["status", "used"], used.to_value());
            match self.writes.replace_status(self.quotas, new).await {
                Ok(written) => {
                    if recent.len() >= RECENT_MAX {
                        recent.clear();
                    }
                    recent.insert(key_of(&written), Arc::new(written));
                }
                Err(status) => {
                    let (names, last): &mut (BTreeSet<String>, Box<Status>) =
                        failed.get_or_insert_with(|| (BTreeSet::new(), status.clone()));
                    names.insert(meta::text(quota, "name").to_owned());
                    *last = status;
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Reads quotas from storage. Skips deleted quotas.
    async fn read_quotas(
        &self,
        namespace: &str,
        names: &BTreeSet<String>,
    ) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let mut quotas = Vec::new();
        for name in names {
            quotas.extend(self.objects.get(self.quotas, namespace, name).await?);
        }
        Ok(quotas)
    }
}

#[async_trait]
impl Plugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        !a.namespace.is_empty() && !a.is_namespace() && Evaluator::of(a).is_some()
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(object), Some(evaluator)) = (object, Evaluator::of(a)) else { return Ok(()) };
        if !evaluator.handles(a, object) {
            return Ok(());
        }
        let limited = &self.configuration.limited;
        if limited.is_empty() && self.objects.list(self.quotas, a.namespace).await?.is_empty() {
            return Ok(());
        }
        let Some(mut recent) = self.lock(a.namespace).await else { return Ok(()) };
        let mut quotas = self.recent_quotas(a.namespace, &mut recent).await?;
        for attempt in 0.. {
            let used = check(&quotas, limited, &evaluator, a, object)?;
            if a.dry_run() || used.is_empty() {
                break;
            }
            match self.charge_usage(&quotas, used, &mut recent).await {
                Ok(()) => break,
                Err((_, status)) if attempt == RETRIES => return Err(status),
                Err((names, _)) => quotas = self.read_quotas(a.namespace, &names).await?,
            }
        }
        Ok(())
    }
}

fn key_of(quota: &Object) -> String {
    format!("{}/{}", meta::text(quota, "namespace"), meta::text(quota, "name"))
}

fn version(quota: &Object) -> u64 {
    meta::text(quota, "resourceVersion").parse().unwrap_or_default()
}

/// True if both are versions of the same object, not of a re-created one.
fn is_same_object(a: &Object, b: &Object) -> bool {
    meta::text(a, "uid") == meta::text(b, "uid")
}

/// Returns a class name from the spec or status; empty if it is not set.
fn spec_text<'o>(object: &'o Object, part: &str, name: &str) -> &'o str {
    child(object, part).map_or("", |part| text(part, name))
}
