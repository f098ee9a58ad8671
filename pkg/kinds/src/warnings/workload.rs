//! Warnings about pods and workloads: names that do not fit into a host name, and the rules of the template
//! (`pkg/registry/{apps,batch,core}`, `pkg/api/job/warnings.go`).

use super::collector::Warnings;
use super::{pod, storage};
use crate::warnings::common::{annotation, generation_changed, name};
use api::tree::{child, children, integer, text};
use apimachinery::field::Path;
use apimachinery::names::is_dns1123_label;
use schema::object::{Object, get_i64, get_object, get_str};

/// Annotation of a v1 `DaemonSet` that counts the changes of its template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Limit of completions of an indexed job that can be tracked reliably, unless the parallelism is low.
const COMPLETIONS_MAX: i64 = 100_000;
/// Limit of parallelism with which any number of completions can be tracked.
const PARALLELISM_MAX: i64 = 10_000;

/// Warns about a created `Pod`.
pub(crate) fn pod(object: &Object, out: &mut Warnings) {
    label_name(object, "the Pod's hostname", out);
    pod::pod(object, out);
}

/// Warns about the name of a workload, which is the prefix of its pods' names.
pub(crate) fn pod_name_prefix(object: &Object, out: &mut Warnings) {
    label_name(object, "Pod names and hostnames", out);
}

fn label_name(object: &Object, place: &str, out: &mut Warnings) {
    let messages = is_dns1123_label(name(object));
    if !messages.is_empty() {
        out.add(format_args!(
            "metadata.name: this is used in {place}, which can result in surprising behavior; a DNS label \
             is recommended: [{}]",
            messages.join(" ")
        ));
    }
}

/// Warns about the template of any workload except a `CronJob`.
pub(crate) fn template(object: &Object, out: &mut Warnings) {
    let Some(template) = get_object(object, &["spec", "template"]) else { return };
    pod::template(&Path::root("spec.template"), template, out);
}

pub(crate) fn named_template(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    template(object, out);
}

pub(crate) fn template_update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        template(new, out);
    }
}

/// Upstream mixes up the arguments, so that it is the old template that is warned of.
pub(crate) fn replication_controller_update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        template(old, out);
    }
}

pub(crate) fn daemon_set_update(new: &Object, old: &Object, out: &mut Warnings) {
    if template_generation(new) != template_generation(old) {
        template(new, out);
    }
}

pub(crate) fn pod_template_update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        pod_template(new, out);
    }
}

pub(crate) fn job_update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        job_spec(new, out);
    }
}

pub(crate) fn pod_template(object: &Object, out: &mut Warnings) {
    let Some(template) = child(object, "template") else { return };
    pod::template(&Path::root("template"), template, out);
}

/// Returns the number of changes of a `DaemonSet`'s template.
pub(crate) fn template_generation(object: &Object) -> i64 {
    annotation(object, TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Warns about a created `StatefulSet`.
pub(crate) fn stateful_set(object: &Object, out: &mut Warnings) {
    template(object, out);
    claim_templates(object, false, out);
    revision_history(object, out);
}

/// Warns about a replaced `StatefulSet`; `changed` is true if its spec has changed.
pub(crate) fn stateful_set_update(object: &Object, changed: bool, out: &mut Warnings) {
    if changed {
        template(object, out);
    }
    claim_templates(object, true, out);
    revision_history(object, out);
}

/// The paths are upstream's: without the claim's `spec` on creation, with a misspelled one on update.
fn claim_templates(object: &Object, update: bool, out: &mut Warnings) {
    let Some(spec) = child(object, "spec") else { return };
    let path = Path::root("spec.volumeClaimTemplates");
    for (index, claim) in children(spec, "volumeClaimTemplates").enumerate() {
        let Some(claim) = child(claim, "spec") else { continue };
        let path = path.index(index);
        let path = if update { path.child("Spec") } else { path };
        storage::claim_spec(&path, claim, out);
    }
}

fn revision_history(object: &Object, out: &mut Warnings) {
    if get_i64(object, &["spec", "revisionHistoryLimit"]).is_some_and(|limit| limit < 0) {
        out.add(format_args!(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
             recommended"
        ));
    }
}

/// Warns about a created `Job`.
pub(crate) fn job(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    job_spec(object, out);
}

pub(crate) fn job_spec(object: &Object, out: &mut Warnings) {
    job_spec_at(&Path::root("spec"), child(object, "spec"), out);
}

/// Warns about a created `CronJob`.
pub(crate) fn cron_job(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    cron_job_spec(object, out);
}

/// Warns about a replaced `CronJob`; `changed` is true if its spec has changed. Validation rejects new time
/// zones in schedules, so old ones only occur here.
pub(crate) fn cron_job_update(object: &Object, changed: bool, out: &mut Warnings) {
    if changed {
        cron_job_spec(object, out);
    }
    if get_str(object, &["spec", "schedule"]).is_some_and(|schedule| schedule.contains("TZ")) {
        out.add(format_args!(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        ));
    }
}

fn cron_job_spec(object: &Object, out: &mut Warnings) {
    let spec = get_object(object, &["spec", "jobTemplate", "spec"]);
    job_spec_at(&Path::root("spec.jobTemplate.spec"), spec, out);
}

fn job_spec_at(path: &Path<'_>, spec: Option<&Object>, out: &mut Warnings) {
    let Some(spec) = spec else { return };
    let beyond_tracking =
        integer(spec, "completions") > COMPLETIONS_MAX && integer(spec, "parallelism") > PARALLELISM_MAX;
    if text(spec, "completionMode") == "Indexed" && beyond_tracking {
        out.add(format_args!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher \
             than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes \
             fail"
        ));
    }
    if let Some(template) = child(spec, "template") {
        pod::template(&path.child("template"), template, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::{created, updated};
    use jsontree::{Value, json};

    const NAME: &str = "metadata.name: this is used in Pod names and hostnames, which can result in \
        surprising behavior; a DNS label is recommended: [must not contain dots]";

    /// Returns a pod spec with one reason for a warning.
    fn bad() -> Value {
        json!({"spec": {"terminationGracePeriodSeconds": -1}})
    }

    const SECONDS: &str = "terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will \
        be treated as 1";

    fn at(path: &str) -> String {
        format!("{path}.spec.{SECONDS}")
    }

    #[test]
    fn workload_names_should_fit_host_names() {
        let object = json!({"metadata": {"name": "a.b"}});
        for (group, plural) in [
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("batch", "jobs"),
            ("batch", "cronjobs"),
            ("", "replicationcontrollers"),
        ] {
            created(group, plural, object.clone(), &[NAME]);
            updated(group, plural, object.clone(), object.clone(), &[]);
        }
        for plural in ["daemonsets", "statefulsets"] {
            created("apps", plural, object.clone(), &[]);
        }
        created("", "pods", object, &[&NAME.replace("Pod names and hostnames", "the Pod's hostname")]);
    }

    #[test]
    fn a_name_may_be_wrong_in_two_ways() {
        let name = format!("{}.b", "a".repeat(63));
        let expected = NAME.replace("[", "[must be no more than 63 characters ");
        created("apps", "deployments", json!({"metadata": {"name": name}}), &[&expected]);
    }

    #[test]
    fn template_warns_if_generation_changes() {
        let object = |generation: i64| json!({"metadata": {"name": "a", "generation": generation}, "spec": {"template": bad()}});
        for (group, plural) in [
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("batch", "jobs"),
            ("", "replicationcontrollers"),
        ] {
            created(group, plural, object(1), &[&at("spec.template")]);
            updated(group, plural, object(2), object(1), &[&at("spec.template")]);
            updated(group, plural, object(1), object(1), &[]);
        }
    }

    #[test]
    fn daemon_set_template_generation_is_used() {
        let object = |count: &str| {
            json!({
                "metadata": {"annotations": {"deprecated.daemonset.template.generation": count}},
                "spec": {"template": bad()},
            })
        };
        created("apps", "daemonsets", object("1"), &[&at("spec.template")]);
        updated("apps", "daemonsets", object("2"), object("1"), &[&at("spec.template")]);
        updated("apps", "daemonsets", object("1"), object("1"), &[]);
    }

    #[test]
    fn replication_controller_warns_about_old_template() {
        let old = json!({"metadata": {"generation": 1}, "spec": {"template": bad()}});
        let new = json!({"metadata": {"generation": 2}, "spec": {"template": {}}});
        updated("", "replicationcontrollers", new, old, &[&at("spec.template")]);
    }

    #[test]
    fn pod_templates_have_their_template_at_the_root() {
        let object = json!({"metadata": {"generation": 1}, "template": bad()});
        created("", "podtemplates", object.clone(), &[&at("template")]);
        updated("", "podtemplates", object.clone(), json!({}), &[&at("template")]);
        updated("", "podtemplates", object.clone(), object, &[]);
    }

    #[test]
    fn stateful_set_claim_templates_warn() {
        let claim = json!({"spec": {"resources": {"requests": {"storage": "500m"}}}});
        let set = json!({"spec": {"revisionHistoryLimit": -1, "volumeClaimTemplates": [claim]}});
        let fraction =
            "resources.requests[storage]: fractional byte value \"500m\" is invalid, must be an integer";
        let history = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value \
            >= 0 is recommended";
        created(
            "apps",
            "statefulsets",
            set.clone(),
            &[&format!("spec.volumeClaimTemplates[0].{fraction}"), history],
        );
        let expected = format!("spec.volumeClaimTemplates[0].Spec.{fraction}");
        updated("apps", "statefulsets", set.clone(), set, &[&expected, history]);
    }

    #[test]
    fn large_indexed_jobs_warn() {
        let spec = |mode: &str, completions: i64, parallelism: i64| json!({"completionMode": mode, "completions": completions, "parallelism": parallelism});
        let message = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher \
            than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
        let job = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
        created("batch", "jobs", job(spec("Indexed", 100_001, 10_001)), &[&format!("spec: {message}")]);
        created("batch", "jobs", job(spec("Indexed", 100_000, 10_001)), &[]);
        created("batch", "jobs", job(spec("Indexed", 100_001, 10_000)), &[]);
        created("batch", "jobs", job(spec("NonIndexed", 100_001, 10_001)), &[]);
        let cron_job = job(json!({"jobTemplate": {"spec": spec("Indexed", 100_001, 10_001)}}));
        created("batch", "cronjobs", cron_job, &[&format!("spec.jobTemplate.spec: {message}")]);
    }

    #[test]
    fn old_schedules_may_name_a_time_zone() {
        let object = json!({
            "metadata": {"name": "a", "generation": 2},
            "spec": {"schedule": "TZ=UTC 0 * * * *", "jobTemplate": {"spec": {"template": bad()}}},
        });
        let zone = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
            https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
        let template = at("spec.jobTemplate.spec.template");
        created("batch", "cronjobs", object.clone(), &[&template]);
        updated("batch", "cronjobs", object.clone(), json!({}), &[&template, zone]);
        updated("batch", "cronjobs", object.clone(), object, &[zone]);
    }
}
