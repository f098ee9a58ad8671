//! Tests of kinds with few rules.

use super::*;
use component_base::features::Gate;

#[test]
fn the_server_selects_the_pods_of_a_job() {
    let job = |spec: Value| json!({"metadata": {"name": "j", "uid": "u"}, "spec": spec});
    let object = created("jobs", job(json!({})));
    let labels = json!({
        "job-name": "j", "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u", "batch.kubernetes.io/controller-uid": "u",
    });
    let expected = json!({
        "template": {"metadata": {"labels": labels}},
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
    });
    assert_eq!(object["spec"], expected);
    let manual_off =
        json!({"template": {"metadata": {"labels": {"job-name": "mine"}}}, "manualSelector": false});
    let object = created("jobs", job(manual_off));
    assert_eq!(object["spec"]["template"]["metadata"]["labels"]["job-name"], "mine");
    let manual = json!({"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}});
    let object = created("jobs", job(manual.clone()));
    assert_eq!((&object["spec"], object["metadata"].get("labels")), (&manual, None));
}

#[test]
fn job_gets_pod_labels_only_if_shared() {
    let check = |shares_labels, job_labels: Value, expected: &[&str]| {
        let mut job = object(json!({
            "metadata": {"name": "j", "uid": "u", "labels": job_labels},
            "spec": {"template": {"metadata": {"labels": job_labels}}},
        }));
        let user = UserInfo::default();
        prepare_for_create(row("jobs"), &mut job, &Context { shares_labels, ..context(&user) });
        let labels = object(job["metadata"]["labels"].clone());
        assert_eq!(labels.keys().collect::<Vec<_>>(), expected);
    };
    let generated =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    let all = [&generated[..], &["mine"]].concat();
    check(true, json!({}), &generated);
    check(true, json!({"mine": "1"}), &all);
    check(false, json!({"mine": "1"}), &["mine"]);
    check(false, json!({}), &[]);
}

#[test]
fn job_manager_is_dropped_without_its_gate() {
    let job = json!({"metadata": {"name": "j"}, "spec": {"manualSelector": true, "managedBy": "a.b/c"}});
    let off = Gates::default().with(Gate::JobManagedBy, false);
    let expected = json!({"manualSelector": true});
    assert_eq!(created("jobs", job.clone())["spec"], job["spec"]);
    assert_eq!(created_with(off, "jobs", job)["spec"], expected);
}

#[test]
fn old_annotations_of_init_containers_are_dropped() {
    let metadata = json!({"annotations": {"pod.beta.kubernetes.io/init-containers": "x", "a": "b"}});
    let kept = json!({"annotations": {"a": "b"}});
    let set = created("replicasets", json!({"metadata": {}, "spec": {"template": {"metadata": metadata}}}));
    assert_eq!(set["spec"]["template"]["metadata"], kept);
    let template = created("podtemplates", json!({"metadata": {}, "template": {"metadata": metadata}}));
    assert_eq!(template["template"]["metadata"], kept);
    let pod = updated("pods/status", json!({"metadata": {}}), json!({"metadata": metadata}));
    assert_eq!(pod["metadata"]["annotations"], kept["annotations"]);
}

#[test]
fn service_account_keeps_only_secret_names() {
    let of = |secrets: Value| json!({"metadata": {}, "secrets": secrets});
    let references = json!([{"name": "a", "kind": "Secret", "namespace": "n"}, {"kind": "Secret"}]);
    let expected = json!([{"name": "a"}, {}]);
    assert_eq!(created("serviceaccounts", of(references.clone()))["secrets"], expected);
    assert_eq!(updated("serviceaccounts", of(json!([])), of(references))["secrets"], expected);
}

#[test]
fn a_limit_range_without_a_name_gets_one() {
    assert_eq!(created("limitranges", json!({"metadata": {}}))["metadata"], json!({"name": "random"}));
    assert_eq!(created("limitranges", json!({"metadata": {"name": "a"}}))["metadata"], json!({"name": "a"}));
}

#[test]
fn an_api_service_of_this_server_is_available() {
    let status = |spec: Value| {
        created("apiservices", json!({"metadata": {}, "spec": spec, "status": {"x": 1}}))
            .get("status")
            .cloned()
    };
    let available = json!({
        "type": "Available", "status": "True", "lastTransitionTime": NOW, "reason": "Local",
        "message": "Local APIServices are always available",
    });
    assert_eq!(status(json!({})), Some(json!({"conditions": [available]})));
    assert_eq!(status(json!({"service": {"name": "s"}})), None);
}

#[test]
fn crd_storage_version_becomes_stored_version() {
    let definition = |storage: &str, stored: Value| {
        let version = |name: &str| json!({"name": name, "storage": name == storage});
        json!({
            "metadata": {}, "spec": {"versions": [version("v1"), version("v2")]},
            "status": {"storedVersions": stored},
        })
    };
    let stored = |value: Value| value["status"]["storedVersions"].clone();
    let plural = "customresourcedefinitions";
    assert_eq!(stored(created(plural, definition("v2", json!(["x"])))), json!(["v2"]));
    let put =
        |storage: &str| updated(plural, definition("v1", json!(["v1"])), definition(storage, json!(["x"])));
    assert_eq!(stored(put("v1")), json!(["v1"]));
    assert_eq!(stored(put("v2")), json!(["v1", "v2"]));
}

#[test]
fn topology_is_dropped_from_endpoint_slices() {
    let slice = |endpoint: Value| json!({"metadata": {}, "endpoints": [endpoint]});
    let host = |name: &str| json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "z"});
    let with = |name: &str, address: &str| json!({"addresses": [address], "deprecatedTopology": host(name)});
    let plural = "endpointslices";
    assert_eq!(created(plural, slice(with("h", "a")))["endpoints"], json!([{"addresses": ["a"]}]));
    let check = |old: Value, new: Value, expected: Value| {
        assert_eq!(updated(plural, slice(old), slice(new))["endpoints"], json!([expected]));
    };
    // The update does not change this list.
    check(with("h", "a"), with("h", "a"), with("h", "a"));
    check(with("h", "a"), with("h", "b"), json!({"addresses": ["b"], "nodeName": "h"}));
    check(with("h", "a"), with("new", "b"), json!({"addresses": ["b"]}));
    check(with("Bad_", "a"), with("Bad_", "b"), json!({"addresses": ["b"]}));
    let mut named = with("h", "b");
    named["nodeName"] = "n".into();
    check(with("h", "a"), named, json!({"addresses": ["b"], "nodeName": "n"}));
}

#[test]
fn pod_group_without_claims_has_no_statuses() {
    let group = |claims: Value| {
        json!({
            "metadata": {}, "spec": {"resourceClaims": claims},
            "status": {"resourceClaimStatuses": [{"name": "a"}]},
        })
    };
    let status =
        |claims: Value| updated("podgroups/status", group(claims.clone()), group(claims))["status"].clone();
    assert_eq!(status(json!([])), json!({}));
    assert_eq!(status(json!([{"name": "a"}])), json!({"resourceClaimStatuses": [{"name": "a"}]}));
}
