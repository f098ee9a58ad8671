//! Test support for policies: a host, policies, bindings and requests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]

mod mutating;
mod validating;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use futures::FutureExt;
use jsontree::{Value, json};
use schema::builtin;
use schema::object::Object;

use super::*;
use crate::dynamic::{EditedObject, VersionConverter};
use crate::testing::{Permits, Store, Write, object};
use crate::{AdmissionNotes, ObjectError, Plugin, Verdict};

/// Each object has one version and no defaults.
struct OneVersion;

#[async_trait]
impl VersionConverter for OneVersion {
    fn generation(&self) -> u64 {
        1
    }

    fn equivalents(&self, _: &Resource<'_>) -> Vec<Handle> {
        Vec::new()
    }

    async fn to_version(
        &self,
        _: &Attributes<'_>,
        o: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>> {
        let mut object = o.clone();
        object.insert("kind", at.kind.into());
        object.insert("apiVersion", at.kind_group_version.into());
        Ok(object)
    }

    fn to_json(&self, object: &Object, at: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        Ok(schema::patch::text(at.message, object)?)
    }

    async fn parse_json(
        &self,
        _: &Attributes<'_>,
        text: &[u8],
        at: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        schema::json::decode(at.message, text)
            .map(|decoded| EditedObject { object: decoded.object, shares_labels: false })
            .map_err(|error| ObjectError::Decode(error.into()))
    }
}

/// ConfigMaps in namespace `ns`, by name.
#[derive(Default)]
struct ConfigMaps(BTreeMap<&'static str, Value>);

impl ConfigMaps {
    fn param(&self, name: &str) -> Option<Param> {
        let map = object(self.0.get(name)?.clone());
        let message = builtin::kind("v1", "ConfigMap")?;
        Some(Param { object: Arc::new(map), message })
    }
}

#[async_trait]
impl Params for ConfigMaps {
    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool> {
        (&*kind.kind == "ConfigMap").then_some(true)
    }

    async fn get(&self, kind: &ParamKind, namespace: &str, name: &str) -> Result<Option<Param>, ParamError> {
        match name {
            "late" => Err(ParamError::NotSynced { kind: Box::new(kind.clone()) }),
            name => Ok(self.param(name).filter(|_| namespace == "ns")),
        }
    }

    async fn list(&self, _: &ParamKind, _: &str) -> Result<Vec<Param>, ParamError> {
        Ok(self.0.keys().filter_map(|name| self.param(name)).collect())
    }
}

#[derive(Default)]
struct Fixed {
    validating: Option<Arc<Policies<Validations>>>,
    mutating: Option<Arc<Policies<Mutations>>>,
}

impl PolicySource for Fixed {
    fn validating(&self) -> Option<Arc<Policies<Validations>>> {
        self.validating.clone()
    }

    fn mutating(&self) -> Option<Arc<Policies<Mutations>>> {
        self.mutating.clone()
    }
}

/// Host with these policies and bindings.
fn policy_deps(source: Fixed) -> PolicyDeps {
    let map = |name: &str, most: &str| {
        json!({"kind": "ConfigMap", "apiVersion": "v1",
               "metadata": {"name": name, "namespace": "ns", "labels": {"is": "param"}}, "data": {"most": most}})
    };
    let maps = ConfigMaps([("one", map("one", "1")), ("two", map("two", "2"))].into());
    let namespace = json!({"metadata": {"name": "ns", "labels": {"team": "a"}}});
    PolicyDeps {
        source: Arc::new(source),
        params: Arc::new(maps),
        deps: DynamicAdmissionDeps {
            versions: Arc::new(OneVersion),
            objects: Store::of([("namespaces", namespace)]),
            authorizer: Arc::new(Permits(&["use pods p"])),
            now: Arc::new(std::time::Instant::now),
            run_blocking: Arc::new(|work| work()),
            conditions: Arc::default(),
            weakened: WeakenedDecisions::default(),
        },
        metrics: Arc::default(),
    }
}

fn read<E: Rules>(policies: &[Value], bindings: &[Value]) -> Option<Arc<Policies<E>>> {
    let policies = policies.iter().map(|policy| Arc::new(Policy::<E>::read(policy.as_object().unwrap())));
    let bindings = bindings.iter().map(|binding| Arc::new(Binding::read(binding.as_object().unwrap())));
    Some(Arc::new(Policies::new(policies, bindings)))
}

fn validating(policies: &[Value], bindings: &[Value]) -> PolicyDeps {
    policy_deps(Fixed { validating: read(policies, bindings), ..Fixed::default() })
}

fn mutating(policies: &[Value], bindings: &[Value]) -> PolicyDeps {
    policy_deps(Fixed { mutating: read(policies, bindings), ..Fixed::default() })
}

/// Returns the weakened decisions as kind, name and cause.
fn weakened(deps: &PolicyDeps) -> Vec<(WeakenedKind, String, String)> {
    deps.deps.weakened.recent().into_iter().map(|one| (one.kind, one.name, one.cause)).collect()
}

/// Policy for created and updated pods, with `spec` merged in.
fn policy(name: &str, spec: Value) -> Value {
    let rule = json!({"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
                      "resources": ["pods"]});
    let mut all = json!({"matchConstraints": {"resourceRules": [rule]}, "failurePolicy": "Fail"});
    merge(&mut all, spec);
    json!({"metadata": {"name": name}, "spec": all})
}

/// Denying binding of a policy, with `spec` merged in.
fn binding(name: &str, policy: &str, spec: Value) -> Value {
    let mut all = json!({"policyName": policy, "validationActions": ["Deny"]});
    merge(&mut all, spec);
    json!({"metadata": {"name": name}, "spec": all})
}

fn merge(into: &mut Value, from: Value) {
    into.as_object_mut().unwrap().extend(object(from));
}

fn pod(spec: Value) -> Object {
    let mut all = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "ns"}});
    merge(&mut all, json!({"spec": spec}));
    object(all)
}

/// Validates the creation of a pod.
fn validate(deps: &PolicyDeps, pod: &Object) -> (Verdict, AdmissionNotes) {
    let write = Write::default();
    let mut notes = AdmissionNotes::default();
    let plugin = ValidatingAdmissionPolicy::new(deps.clone());
    let a = write.attributes("p");
    assert!(plugin.handles(&a));
    let verdict = plugin.validate(&a, Some(pod), &mut notes).now_or_never().unwrap();
    (verdict, notes)
}

/// Returns the message of a rejected pod creation; empty if it is accepted.
fn refusal(deps: &PolicyDeps, pod: &Object) -> String {
    validate(deps, pod).0.err().map(|status| status.message).unwrap_or_default()
}
