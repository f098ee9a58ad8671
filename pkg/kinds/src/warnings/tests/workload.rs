//! Tests of warnings about pods and workloads: names that do not fit into a host name, and the rules of the template
//! (`pkg/registry/{apps,batch,core}`, `pkg/api/job/warnings.go`).

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
