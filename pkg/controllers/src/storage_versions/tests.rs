//! Tests of StorageVersion entries.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use ::api::catalog::ServedSelection;
use component_base::features::{Effective, Gates};

use super::*;

const NOW: UnixTime = UnixTime { seconds: 60, nanos: 0 };

fn builtin() -> Catalog {
    let serving = ServedSelection { gates: Gates::default(), ..ServedSelection::default() };
    Catalog::builtin(serving.rows().unwrap())
}

/// Returns the entry of a resource for a server of this release alone.
fn entry(name: &str) -> Entry {
    entries(&builtin(), Effective::default()).into_iter().find(|entry| entry.name == name).unwrap()
}

#[test]
fn entries_match_upstream() {
    // Taken from an upstream server.
    let check = |name: &str, encoding: &str, decodable: &[&str], served: &[&str]| {
        let entry = entry(name);
        assert_eq!(entry.encoding, encoding, "{name}");
        assert_eq!(entry.decodable, decodable, "{name}");
        assert_eq!(entry.served, served, "{name}");
    };
    check("core.configmaps", "v1", &["v1"], &["v1"]);
    check("core.events", "v1", &["v1", "events.k8s.io/v1"], &["v1"]);
    check("apps.deployments", "apps/v1", &["apps/v1", "apps/v1beta2", "apps/v1beta1"], &["apps/v1"]);
    let scalers = ["autoscaling/v2", "autoscaling/v1"];
    check("autoscaling.horizontalpodautoscalers", "autoscaling/v2", &scalers, &scalers);
    let definitions = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];
    check(
        "apiextensions.k8s.io.customresourcedefinitions",
        "apiextensions.k8s.io/v1beta1",
        &definitions,
        &definitions[..1],
    );
    let policies = ["v1", "v1beta1", "v1alpha1"].map(|v| format!("admissionregistration.k8s.io/{v}"));
    let policies = [policies[0].as_str(), policies[1].as_str(), policies[2].as_str()];
    check(
        "admissionregistration.k8s.io.mutatingadmissionpolicies",
        "admissionregistration.k8s.io/v1",
        &policies,
        &policies[..1],
    );
}

#[test]
fn every_stored_resource_has_entry_with_versions() {
    let all = entries(&builtin(), Effective::default());
    for entry in &all {
        let line = format!("{}: ", entry.name.rsplit_once('.').map(|(g, r)| format!("{g} {r}")).unwrap());
        assert!(DECODABLE.contains(&line), "{line}");
        assert!(entry.served.iter().all(|version| entry.decodable.contains(version)), "{entry:?}");
    }
    // The number of an upstream server, except for two that are off by default.
    assert_eq!(all.len(), 62);
}

#[test]
fn condition_shows_whether_servers_agree() {
    let mine = |encoding: &str| Entry { encoding: encoding.to_owned(), ..entry("batch.jobs") };
    let status = |object: &Object| object.get("status").unwrap().clone();
    let condition = |status: &str, since: &str, reason: &str, message: &str| {
        json!([{
            "type": "AllEncodingVersionsEqual", "status": status, "lastTransitionTime": since, "reason": reason,
            "message": message,
        }])
    };
    let set = ("CommonEncodingVersionSet", "Common encoding version set");
    let first = registered(&Object::new(), "a", &mine("batch/v1"), NOW).unwrap();
    let server_version = |server: &str, encoding: &str| {
        json!({
            "apiServerID": server, "encodingVersion": encoding, "decodableVersions": ["batch/v1"],
            "servedVersions": ["batch/v1"],
        })
    };
    let expected = json!({
        "storageVersions": [server_version("a", "batch/v1")], "commonEncodingVersion": "batch/v1",
        "conditions": condition("True", "1970-01-01T00:01:00Z", set.0, set.1),
    });
    assert_eq!(status(&first), expected);
    let later = UnixTime::from_seconds(120);
    assert_eq!(registered(&first, "a", &mine("batch/v1"), later), None);
    let second = registered(&first, "b", &mine("batch/v2"), later).unwrap();
    let expected = json!({
        "storageVersions": [server_version("a", "batch/v1"), server_version("b", "batch/v2")],
        "conditions": condition(
            "False", "1970-01-01T00:02:00Z", "CommonEncodingVersionUnset", "Common encoding version unset",
        ),
    });
    assert_eq!(status(&second), expected);
    let third = registered(&second, "a", &mine("batch/v2"), NOW).unwrap();
    let common = object::get_str(&third, &["status", "commonEncodingVersion"]);
    assert_eq!(common, Some("batch/v2"));
    // A server with a changed storage version changes the common version.
    let alone = registered(&first, "a", &mine("batch/v2"), later).unwrap();
    let conditions = alone.get("status").unwrap().get("conditions").unwrap().clone();
    assert_eq!(conditions, condition("True", "1970-01-01T00:02:00Z", set.0, set.1));
}

#[test]
fn a_write_waits_until_its_resource_is_registered() {
    let events = entry("core.events");
    let barrier = Barrier::pending_for(std::slice::from_ref(&events));
    let pending = |group: &str, resource: &str| barrier.pending(group, resource);
    assert_eq!(pending("", "events"), Some(None));
    assert_eq!(pending("events.k8s.io", "events"), Some(None));
    assert_eq!(pending("", "pods"), None);
    barrier.record(&events, Err(&Error::Missing("no")));
    assert_eq!(pending("events.k8s.io", "events"), Some(Some("no".to_owned())));
    barrier.record(&events, Ok(()));
    assert_eq!(pending("events.k8s.io", "events"), None);
}
