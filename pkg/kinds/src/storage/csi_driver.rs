//! CSI drivers: cluster features that their volumes need.

mod columns;
mod defaults;
mod warnings;

use crate::kind::{Columns, Generation, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::supported_value;
use api::tree::{child, children, is_set, list, maybe_flag, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use schema::builtin::IO_K8S_API_STORAGE_V1_CSIDRIVERSPEC as SPEC;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("storage.k8s.io/v1", defaults::csi_driver),
        Version::with_defaults("storage.k8s.io/v1beta1", defaults::csi_driver),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules {
        create: |new, out| warnings::csi_driver(new, None, out),
        update: OnUpdate::Custom(|new, old, out| warnings::csi_driver(new, Some(old), out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[gated_path(
        &["spec"],
        &[
            gated_by(Gate::MutableCSINodeAllocatableCount, &[&["nodeAllocatableUpdatePeriodSeconds"]]),
            gated_by(Gate::CSIServiceAccountTokenSecrets, &[&["serviceAccountTokenInSecrets"]]),
            gated_by(Gate::VolumeLimitScaling, &[&["preventPodSchedulingIfMissing"]]),
        ],
    )],
    strategy: &Common,
    rare_properties: RareProperties { generation: Generation::FromFirstUpdate, ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Range of a token's lifetime in seconds.
const TOKEN_SECONDS: std::ops::RangeInclusive<i64> = 600..=1 << 32;
/// Lower limit of the period for updating a driver's allocatable volume count, in seconds.
const UPDATE_PERIOD_SECONDS_MIN: i64 = 10;

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    spec(new, &mut errors);
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    spec(new, &mut errors);
    let empty = Object::new();
    let new_spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    // `attachedRequired` is upstream's path.
    immutable(&Path::root("spec.attachedRequired"), &SPEC, "attachRequired", new_spec, old_spec, &mut errors);
    immutable(
        &Path::root("spec.volumeLifecycleModes"),
        &SPEC,
        "volumeLifecycleModes",
        new_spec,
        old_spec,
        &mut errors,
    );
    errors
}

fn spec(driver: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(driver, "spec").unwrap_or(&empty);
    let required =
        |member: &str, step: &str| (!is_set(spec, member)).then(|| Error::required(&path.child(step), ""));
    errors.extend(required("attachRequired", "attachedRequired"));
    errors.extend(required("podInfoOnMount", "podInfoOnMount"));
    errors.extend(required("storageCapacity", "storageCapacity"));
    if let Some(policy) = maybe_text(spec, "fsGroupPolicy") {
        let supported = ["File", "None", "ReadWriteOnceWithFSType"];
        supported_value(&path.child("fsGroupPolicy"), policy, &supported, errors);
    }
    token_requests(&path.child("tokenRequests"), spec, errors);
    for mode in texts(spec, "volumeLifecycleModes") {
        supported_value(&path.child("volumeLifecycleModes"), mode, &["Persistent", "Ephemeral"], errors);
    }
    errors.extend(required("seLinuxMount", "seLinuxMount"));
    let period = "nodeAllocatableUpdatePeriodSeconds";
    if let Some(value) = maybe_integer(spec, period).filter(|value| *value < UPDATE_PERIOD_SECONDS_MIN) {
        let detail = "must be greater than or equal to 10 seconds";
        errors.push(Error::invalid(&path.child(period), value, detail));
    }
    let in_secrets = "serviceAccountTokenInSecrets";
    if let (Some(value), []) = (maybe_flag(spec, in_secrets), list(spec, "tokenRequests")) {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.push(Error::invalid(&path.child(in_secrets), value, detail));
    }
}

fn token_requests(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut audiences = BTreeSet::new();
    for (index, request) in children(spec, "tokenRequests").enumerate() {
        let path = path.index(index);
        let audience = text(request, "audience");
        if !audiences.insert(audience) {
            errors.push(Error::duplicate(&path.child("audience"), audience));
            continue;
        }
        let Some(seconds) = maybe_integer(request, "expirationSeconds") else { continue };
        let detail = if seconds < *TOKEN_SECONDS.start() {
            "may not specify a duration less than 10 minutes"
        } else if seconds > *TOKEN_SECONDS.end() {
            "may not specify a duration larger than 2^32 seconds"
        } else {
            continue;
        };
        errors.push(Error::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn driver(rest: Value) -> Object {
        let mut spec = json!({"attachRequired": true, "podInfoOnMount": true, "storageCapacity": true, "seLinuxMount": false});
        if let (Some(spec), Value::Object(rest)) = (spec.as_object_mut(), rest) {
            spec.extend(rest);
        }
        let object = json!({"metadata": {"name": "d", "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(rest: Value, expected: &[&str]) {
        let errors = create(&driver(rest.clone()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{rest}");
    }

    #[test]
    fn modes_and_policies_are_known() {
        check(json!({}), &[]);
        check(
            json!({"fsGroupPolicy": "x", "volumeLifecycleModes": ["x"]}),
            &["spec.fsGroupPolicy", "spec.volumeLifecycleModes"],
        );
        check(json!({"attachRequired": null}), &["spec.attachedRequired"]);
        check(json!({"nodeAllocatableUpdatePeriodSeconds": 9}), &["spec.nodeAllocatableUpdatePeriodSeconds"]);
        check(json!({"serviceAccountTokenInSecrets": false}), &["spec.serviceAccountTokenInSecrets"]);
    }

    #[test]
    fn tokens_last_ten_minutes() {
        let tokens =
            |seconds: i64| json!({"tokenRequests": [{"audience": "a", "expirationSeconds": seconds}]});
        check(tokens(600), &[]);
        check(tokens(599), &["spec.tokenRequests[0].expirationSeconds"]);
        check(tokens((1 << 32) + 1), &["spec.tokenRequests[0].expirationSeconds"]);
        check(
            json!({"tokenRequests": [{"audience": ""}, {"audience": ""}]}),
            &["spec.tokenRequests[1].audience"],
        );
    }

    #[test]
    fn attach_required_is_immutable() {
        let errors = update("", &driver(json!({"attachRequired": false})), &driver(json!({})));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec.attachedRequired"]);
    }
}
