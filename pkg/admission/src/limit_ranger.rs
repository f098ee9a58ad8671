//! `LimitRanger` sets default requests and limits and enforces minimum and maximum for pods, containers and
//! claims of a namespace (upstream's `plugin/pkg/admission/limitranger`).

mod constraint;
mod defaults;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, children, text};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

use crate::resource_list::{CountOptions, ResourceList, ResourceSide, of_pod};
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict, meta};
use constraint::{Constraints, RequestedResources};

/// Maximum of containers times quantities in limit ranges. Each pair may add an entry to the pod or an error
/// message.
const PAIRS_MAX: usize = 100_000;

pub struct LimitRanger {
    objects: Arc<dyn Objects>,
    ranges: &'static Resource<'static>,
}

impl LimitRanger {
    /// Looks up limit ranges in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(LimitRanger { objects, ranges: resources::find("", "v1", "limitranges", "")? })
    }

    /// Returns the limit ranges for a write of `object`. Returns none for an object under deletion, because
    /// removing its finalizers must always be possible.
    async fn ranges(&self, a: &Attributes<'_>, object: &Object) -> Result<Vec<Arc<Object>>, Box<Status>> {
        if a.old.is_some_and(meta::is_deleting) {
            return Ok(Vec::new());
        }
        let ranges = self.objects.list(self.ranges, a.namespace).await?;
        let limit_count: usize = ranges.iter().flat_map(|range| limits(range)).map(quantities).sum();
        if limit_count.saturating_mul(containers(object).count().max(1)) > PAIRS_MAX {
            return Err(a.forbidden(format!(
                "its containers times the quantities in limit ranges are more than {PAIRS_MAX}"
            )));
        }
        Ok(ranges)
    }
}

#[async_trait]
impl Plugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        match a.operation {
            Operation::Create => a.is_pod() || a.is("", "persistentvolumeclaims", ""),
            Operation::Update => a.is("", "pods", "resize") || a.is("", "persistentvolumeclaims", ""),
            Operation::Delete | Operation::Connect => false,
        }
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        if a.resource.plural == "pods" {
            for range in self.ranges(a, object).await? {
                defaults::apply(&range, object);
            }
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        for range in self.ranges(a, object).await? {
            let mut errors = Vec::new();
            for limit in limits(&range) {
                match a.resource.plural {
                    "pods" => check_pod(limit, object, &mut errors),
                    _ => check_claim(limit, object, &mut errors),
                }
            }
            if let Some(cause) = meta::aggregate(errors) {
                return Err(a.forbidden(&cause));
            }
        }
        Ok(())
    }
}

fn limits(range: &Object) -> impl Iterator<Item = &Object> {
    child(range, "spec").into_iter().flat_map(|spec| children(spec, "limits"))
}

/// Returns the number of quantities in an item of a limit range.
fn quantities(limit: &Object) -> usize {
    let lists = ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"];
    lists.iter().filter_map(|list| child(limit, list)).map(Object::len).sum()
}

/// Returns the containers that limit ranges apply to.
fn containers(pod: &Object) -> impl Iterator<Item = &Object> {
    let spec = child(pod, "spec");
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(move |list| spec.into_iter().flat_map(move |spec| children(spec, list)))
}

fn check_pod(limit: &Object, pod: &Object, errors: &mut Vec<String>) {
    let constraints = Constraints::of(limit);
    match text(limit, "type") {
        "Container" => {
            for container in containers(pod) {
                constraints.check(&RequestedResources::from_resources(child(container, "resources")), errors);
            }
        }
        "Pod" => {
            let of = |side| of_pod(pod, side, CountOptions::default());
            constraints.check(
                &RequestedResources {
                    requests: of(ResourceSide::Requests),
                    limits: of(ResourceSide::Limits),
                },
                errors,
            );
        }
        _ => {}
    }
}

fn check_claim(limit: &Object, claim: &Object, errors: &mut Vec<String>) {
    if text(limit, "type") == "PersistentVolumeClaim" {
        let resources = child(claim, "spec").and_then(|spec| child(spec, "resources"));
        let requests = resources.map(|resources| ResourceList::of(resources, "requests")).unwrap_or_default();
        Constraints::of(limit).check_requests(&requests, errors);
    }
}
