//! `JobValidation` rejects changes of a Job's parallelism if its pods are gang-scheduled (upstream's
//! `plugin/pkg/admission/job`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, children, flag, maybe_integer, maybe_text, text};
use apimachinery::go_quote::quote;
use async_trait::async_trait;
use schema::object::{Object, get_object};

use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict, meta};

pub struct JobValidation {
    objects: Arc<dyn Objects>,
    groups: &'static Resource<'static>,
}

impl JobValidation {
    /// Looks up pod groups in `objects`. `None` if there is no such kind.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(JobValidation {
            objects,
            groups: resources::find("scheduling.k8s.io", "v1alpha2", "podgroups", "")?,
        })
    }

    /// Returns the gang-scheduled pod group of a Job, if there is one. A failed lookup does not reject the
    /// update.
    async fn gang(&self, namespace: &str, job: &Object) -> Option<Arc<Object>> {
        let group = get_object(job, &["spec", "template", "spec", "schedulingGroup"]);
        if let Some(name) = group.and_then(|group| maybe_text(group, "podGroupName")) {
            let group = self.objects.cached(self.groups, namespace, name).await.ok()??;
            return is_gang(&group).then_some(group);
        }
        let groups = self.objects.list(self.groups, namespace).await.ok()?;
        groups.into_iter().find(|group| is_controlled(group, meta::text(job, "uid")) && is_gang(group))
    }
}

fn is_gang(group: &Object) -> bool {
    get_object(group, &["spec", "schedulingPolicy", "gang"]).is_some()
}

fn is_controlled(group: &Object, uid: &str) -> bool {
    let metadata = child(group, "metadata");
    let mut owners = metadata.into_iter().flat_map(|metadata| children(metadata, "ownerReferences"));
    let controller = owners.find(|owner| flag(owner, "controller"));
    controller.is_some_and(|owner| text(owner, "uid") == uid)
}

fn parallelism(job: &Object) -> Option<i64> {
    maybe_integer(child(job, "spec")?, "parallelism")
}

#[async_trait]
impl Plugin for JobValidation {
    fn name(&self) -> &'static str {
        "JobValidation"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update && a.is("batch", "jobs", "")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(job), Some(old)) = (object, a.old) else { return Ok(()) };
        if parallelism(job) == parallelism(old) {
            return Ok(());
        }
        match self.gang(a.namespace, old).await {
            None => Ok(()),
            Some(group) => Err(a.forbidden(format!(
                "cannot change parallelism for a Job referencing gang-scheduled PodGroup {}",
                quote(meta::text(&group, "name"))
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    fn group(name: &str, owner: &str, policy: &str) -> (&'static str, Value) {
        let owners = json!([{"uid": owner, "controller": true}]);
        let metadata = json!({"name": name, "namespace": "ns", "ownerReferences": owners});
        ("podgroups", json!({"metadata": metadata, "spec": {"schedulingPolicy": {policy: {}}}}))
    }

    #[test]
    fn a_gang_keeps_its_size() {
        let store = Store::of([group("a", "1", "gang"), group("b", "2", "basic"), group("c", "3", "gang")]);
        let plugin = JobValidation::new(store).unwrap();
        let check = |uid: &str, group: Option<&str>, new: u32, expected: Option<&str>| {
            let job = |parallelism: u32| {
                let pod = json!({"schedulingGroup": {"podGroupName": group}});
                json!({"metadata": {"name": "j", "namespace": "ns", "uid": uid},
                    "spec": {"parallelism": parallelism, "template": {"spec": pod}}})
            };
            let got = Write::of("batch", "v1", "jobs").over(job(1)).validated(&plugin, job(new));
            let refusal = |name| {
                format!(
                    "jobs.batch \"j\" is forbidden: cannot change parallelism for a Job referencing gang-scheduled PodGroup \"{name}\""
                )
            };
            assert_eq!(got.err(), expected.map(refusal));
        };
        check("1", None, 2, Some("a"));
        check("1", None, 1, None);
        check("2", None, 2, None);
        check("4", None, 2, None);
        check("4", Some("c"), 2, Some("c"));
        check("1", Some("b"), 2, None);
        check("1", Some("none"), 2, None);
    }
}
