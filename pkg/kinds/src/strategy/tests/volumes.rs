//! Tests of persistent volumes and their claims.

use super::*;

#[test]
fn a_volume_starts_as_pending() {
    let volume =
        created("persistentvolumes", json!({"metadata": {}, "status": {"phase": "Bound", "reason": "r"}}));
    assert_eq!(volume["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": NOW}));
}

#[test]
fn phase_change_time_is_set_once() {
    let check = |old: (&str, Option<&str>), new: (&str, Option<&str>), expected: Option<&str>| {
        let of = |(phase, time): (&str, Option<&str>)| match time {
            Some(time) => {
                json!({"metadata": {}, "status": {"phase": phase, "lastPhaseTransitionTime": time}})
            }
            None => json!({"metadata": {}, "status": {"phase": phase}}),
        };
        let put = updated("persistentvolumes/status", of(old), of(new));
        let case = format!("{old:?} {new:?}");
        assert_eq!(put, of((new.0, expected)), "{case}");
    };
    let before = Some(BEFORE);
    let other = Some("2023-01-01T00:00:00Z");
    check(("Pending", before), ("Pending", None), before);
    check(("Pending", before), ("Pending", other), other);
    check(("Pending", before), ("Bound", None), Some(NOW));
    check(("Pending", before), ("Bound", before), Some(NOW));
    check(("Pending", before), ("Bound", other), other);
    check(("Pending", None), ("Bound", None), Some(NOW));
    check(("Pending", None), ("Pending", None), None);
}

#[test]
fn both_fields_of_a_claim_name_its_source() {
    let claim = json!({"kind": "PersistentVolumeClaim", "name": "a"});
    let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "a"});
    let custom = json!({"apiGroup": "x.io", "kind": "Custom", "name": "a"});
    let away = json!({"kind": "PersistentVolumeClaim", "name": "a", "namespace": "n"});
    let spec = |fields: &[(&str, &Value)]| {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone()));
        Value::Object(fields.collect())
    };
    let both = |source: &Value| spec(&[("dataSource", source), ("dataSourceRef", source)]);
    let of = |spec: Value| json!({"metadata": {}, "spec": spec});
    let check = |sent: Value, expected: Value| {
        let claim_object = created("persistentvolumeclaims", of(sent.clone()));
        assert_eq!(claim_object["spec"], expected, "created {sent}");
        let put = updated("persistentvolumeclaims", of(json!({})), of(sent.clone()));
        assert_eq!(put["spec"], expected, "updated {sent}");
    };
    check(json!({}), json!({}));
    check(spec(&[("dataSource", &claim)]), both(&claim));
    check(spec(&[("dataSource", &snapshot)]), both(&snapshot));
    check(spec(&[("dataSource", &custom)]), json!({}));
    check(spec(&[("dataSourceRef", &custom)]), both(&custom));
    check(spec(&[("dataSourceRef", &away)]), json!({}));
    let different = spec(&[("dataSource", &claim), ("dataSourceRef", &custom)]);
    check(different.clone(), different);
    // A claim keeps its existing source.
    let updated_spec =
        |old: Value, new: Value| updated("persistentvolumeclaims", of(old), of(new))["spec"].clone();
    assert_eq!(updated_spec(both(&custom), spec(&[("dataSource", &custom)])), both(&custom));
    let reference = spec(&[("dataSourceRef", &away)]);
    assert_eq!(updated_spec(reference.clone(), reference.clone()), reference);
}
