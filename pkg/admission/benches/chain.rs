//! Benchmark: admission of a new pod through the default plugins, with objects in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use admission::{
    AdmissionNotes, Attributes, Chain, DefaultTolerationSeconds, Environment, LimitRanger,
    NamespaceLifecycle, NamespaceStates, Objects, Operation, Options, Plugin, PodSecurity, PodTopologyLabels,
    Priority, ResourceQuota, RuntimeClass, ServiceAccount, Writes,
};
use api::resources::{self, Resource};
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use component_base::features::Gates;
use futures::executor::block_on;
use jsontree::{Value, json};
use schema::object::Object;

fn main() {
    divan::main();
}

struct Memory(BTreeMap<(&'static str, &'static str), Arc<Object>>);

#[async_trait]
impl Objects for Memory {
    async fn cached(
        &self,
        row: &'static Resource<'static>,
        _: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(self.0.get(&(row.plural, name)).cloned())
    }

    async fn get(
        &self,
        row: &'static Resource<'static>,
        _: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(self.0.get(&(row.plural, name)).cloned())
    }

    async fn list(&self, row: &'static Resource<'static>, _: &str) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let matching = self.0.iter().filter(|((plural, _), _)| *plural == row.plural);
        Ok(matching.map(|(_, object)| Arc::clone(object)).collect())
    }
}

impl NamespaceStates for Memory {
    fn is_active(&self, name: &str) -> Option<bool> {
        self.0.keys().any(|(plural, of)| *plural == "namespaces" && *of == name).then_some(true)
    }
}

#[async_trait]
impl Writes for Memory {
    async fn create(&self, _: &'static Resource<'static>, _: Object) -> Result<(), Box<Status>> {
        Ok(())
    }

    async fn replace_status(
        &self,
        _: &'static Resource<'static>,
        object: Object,
    ) -> Result<Object, Box<Status>> {
        Ok(object)
    }
}

struct Dice;

#[async_trait]
impl Environment for Dice {
    fn random_number(&self) -> u32 {
        4
    }

    async fn sleep(&self, _: Duration) {}
}

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn chain() -> Option<Chain> {
    let objects = [
        (("namespaces", "ns"), json!({"metadata": {"name": "ns"}})),
        (("serviceaccounts", "default"), json!({"metadata": {"name": "default"}})),
        (("priorityclasses", "a"), json!({"metadata": {"name": "a"}, "value": 1})),
        (("priorityclasses", "b"), json!({"metadata": {"name": "b"}, "value": 2})),
    ];
    let memory =
        Arc::new(Memory(objects.into_iter().map(|(key, value)| (key, Arc::new(object(value)))).collect()));
    let objects = || Arc::clone(&memory) as Arc<dyn Objects>;
    let plugins: Vec<Box<dyn Plugin>> = vec![
        Box::new(NamespaceLifecycle::new(objects(), memory.clone())?),
        Box::new(LimitRanger::new(objects())?),
        Box::new(ServiceAccount::new(objects(), Arc::new(Dice))?),
        Box::new(PodSecurity::new(objects(), Arc::default())?),
        Box::new(Priority::new(objects(), Gates::default())?),
        Box::new(DefaultTolerationSeconds::new(300, 300)),
        Box::new(RuntimeClass::new(objects())?),
        Box::new(PodTopologyLabels::new(objects())?),
        Box::new(ResourceQuota::new(objects(), Arc::clone(&memory) as _)?),
    ];
    Some(Chain::new(plugins))
}

/// A pod of about 3 KB of JSON.
fn pod() -> Object {
    let env: Vec<Value> =
        (0..40).map(|i| json!({"name": format!("VARIABLE_{i}"), "value": "x".repeat(30)})).collect();
    object(json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [
        {"name": "c", "image": "registry.example/image:1", "env": env}]}}))
}

#[divan::bench]
fn new_pod(bencher: divan::Bencher<'_, '_>) {
    let (Some(chain), Some(resource)) = (chain(), resources::find("", "v1", "pods", "")) else { return };
    let user = UserInfo::default();
    let request = RequestContext::default();
    let attributes = Attributes {
        operation: Operation::Create,
        user: &user,
        resource,
        endpoint: resource,
        namespace: "ns",
        name: "p",
        generate_name: "",
        old: None,
        options: Options::None,
        request: &request,
    };
    bencher.with_inputs(pod).bench_values(|mut pod| {
        let mut notes = AdmissionNotes::default();
        block_on(chain.mutate(&attributes, Some(&mut pod), &mut notes))
            .and_then(|()| block_on(chain.validate(&attributes, Some(&pod), &mut notes)))
            .map_err(|status| status.message)
    });
}
