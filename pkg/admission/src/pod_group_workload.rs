//! `PodGroupWorkloadExists` rejects a pod group that references a missing Workload or a missing template in
//! it (upstream's `plugin/pkg/admission/podgroup`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{children, text};
use apimachinery::go_quote::quote;
use async_trait::async_trait;
use schema::object::{Object, get_object};

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta};

pub struct PodGroupWorkloadExists {
    objects: Arc<dyn Objects>,
    workloads: &'static Resource<'static>,
}

impl PodGroupWorkloadExists {
    /// Looks up Workloads in `objects`. `None` if there is no such kind.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let workloads = resources::find("scheduling.k8s.io", "v1alpha2", "workloads", "")?;
        Some(PodGroupWorkloadExists { objects, workloads })
    }
}

#[async_trait]
impl Plugin for PodGroupWorkloadExists {
    fn name(&self) -> &'static str {
        "PodGroupWorkloadExists"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("scheduling.k8s.io", "podgroups", "")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let reference =
            object.and_then(|group| get_object(group, &["spec", "podGroupTemplateRef", "workload"]));
        let Some(reference) = reference else { return Ok(()) };
        let name = text(reference, "workloadName");
        let refused = |cause: String| Err(a.forbidden(format!("PodGroup rejected: {cause}")));
        let Some(workload) = self.objects.find(self.workloads, a.namespace, name).await? else {
            return refused(format!("Workload {} not found", quote(name)));
        };
        if meta::is_deleting(&workload) {
            return refused(format!("Workload {} is being deleted", quote(name)));
        }
        let template_name = text(reference, "podGroupTemplateName");
        let spec = get_object(&workload, &["spec"]);
        let mut templates = spec.into_iter().flat_map(|spec| children(spec, "podGroupTemplates"));
        if templates.any(|template| text(template, "name") == template_name) {
            Ok(())
        } else {
            refused(format!(
                "PodGroupTemplate {} not found in Workload {}",
                quote(template_name),
                quote(name)
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    fn workload(metadata: Value) -> Value {
        json!({"metadata": metadata, "spec": {"podGroupTemplates": [{"name": "t"}]}})
    }

    #[test]
    fn pod_group_template_must_exist() {
        let named = |name: &str| json!({"name": name, "namespace": "ns"});
        let mut deleted = named("gone");
        deleted["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let store = Store::of([("workloads", workload(named("w"))), ("workloads", workload(deleted))]);
        store.put_new("workloads", workload(named("new")));
        let plugin = PodGroupWorkloadExists::new(store).unwrap();
        let check = |spec: Value, expected: Result<(), &str>| {
            let group = json!({"metadata": {"name": "g"}, "spec": spec});
            let write = Write::of("scheduling.k8s.io", "v1alpha2", "podgroups");
            let got = write.validated(&plugin, group).map(|_| ());
            let refusal =
                |cause| format!("podgroups.scheduling.k8s.io \"g\" is forbidden: PodGroup rejected: {cause}");
            assert_eq!(got, expected.map_err(refusal));
        };
        let of = |name: &str, template: &str| json!({"podGroupTemplateRef": {"workload": {"workloadName": name, "podGroupTemplateName": template}}});
        check(json!({}), Ok(()));
        check(of("w", "t"), Ok(()));
        check(of("new", "t"), Ok(()));
        check(of("none", "t"), Err("Workload \"none\" not found"));
        check(of("gone", "t"), Err("Workload \"gone\" is being deleted"));
        check(of("w", "u"), Err("PodGroupTemplate \"u\" not found in Workload \"w\""));
    }
}
