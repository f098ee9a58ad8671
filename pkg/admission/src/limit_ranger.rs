//! `LimitRanger`: what the pods, containers and claims of a namespace get where they ask for nothing, and how
//! much they may ask for (upstream's `plugin/pkg/admission/limitranger`).

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

use crate::resource_list::{Counting, ResourceList, Side, of_pod};
use crate::{Attributes, Notes, Objects, Operation, Plugin, Verdict, meta};
use constraint::{Asked, Constraints};

/// The plugin.
pub struct LimitRanger {
    objects: Arc<dyn Objects>,
    ranges: &'static Resource<'static>,
}

impl LimitRanger {
    /// Looks limit ranges up in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(LimitRanger { objects, ranges: resources::find("", "v1", "limitranges", "")? })
    }

    /// The limit ranges for a write; none for an object on its way out, which must be able to lose its
    /// finalizers.
    async fn ranges(&self, a: &Attributes<'_>) -> Result<Vec<Arc<Object>>, Box<Status>> {
        if a.old.is_some_and(meta::is_deleting) {
            return Ok(Vec::new());
        }
        self.objects.list(self.ranges, a.namespace).await
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

    async fn mutate(&self, a: &Attributes<'_>, object: Option<&mut Object>, _: &mut Notes) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        if a.resource.plural == "pods" {
            for range in self.ranges(a).await? {
                defaults::apply(&range, object);
            }
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut Notes) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        for range in self.ranges(a).await? {
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

/// The items of a limit range.
fn limits(range: &Object) -> impl Iterator<Item = &Object> {
    child(range, "spec").into_iter().flat_map(|spec| children(spec, "limits"))
}

fn check_pod(limit: &Object, pod: &Object, errors: &mut Vec<String>) {
    let constraints = Constraints::of(limit);
    match text(limit, "type") {
        "Container" => {
            let Some(spec) = child(pod, "spec") else { return };
            for container in
                ["containers", "initContainers"].into_iter().flat_map(|list| children(spec, list))
            {
                constraints.check(&Asked::by(child(container, "resources")), errors);
            }
        }
        "Pod" => {
            let of = |side| of_pod(pod, side, Counting::default());
            constraints.check(&Asked { requests: of(Side::Requests), limits: of(Side::Limits) }, errors);
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
