//! Test support for plugins: an object store, fake delays and random numbers, and request attributes.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use api::resources::{self, Resource};
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use futures::FutureExt;
use jsontree::Value;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Environment, Objects, Operation, Options, Plugin, Verdict, Writes};

/// Result of a plugin, with the message of a rejection.
pub(crate) type Outcome<T> = Result<T, String>;

/// A request with default values.
pub(crate) static REQUEST: LazyLock<RequestContext> = LazyLock::new(RequestContext::default);

type Key = (&'static str, String, String);

/// Objects by plural, namespace and name. Objects in `new` are not in the cache yet.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) objects: Mutex<BTreeMap<Key, Arc<Object>>>,
    pub(crate) new: Mutex<BTreeMap<Key, Arc<Object>>>,
    pub(crate) pauses: Mutex<Vec<Duration>>,
    pub(crate) conflicts: Mutex<u32>,
}

pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        other => panic!("no object: {other}"),
    }
}

impl Store {
    /// Creates a store with these objects, each with its plural.
    pub(crate) fn of<const N: usize>(objects: [(&'static str, Value); N]) -> Arc<Self> {
        let store = Store::default();
        for (plural, value) in objects {
            store.put(plural, value);
        }
        Arc::new(store)
    }

    pub(crate) fn put(&self, plural: &'static str, value: Value) {
        let (key, object) = keyed(plural, object(value));
        self.objects.lock().unwrap().insert(key, object);
    }

    pub(crate) fn put_new(&self, plural: &'static str, value: Value) {
        let (key, object) = keyed(plural, object(value));
        self.new.lock().unwrap().insert(key, object);
    }

    pub(crate) fn read(&self, plural: &'static str, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.objects.lock().unwrap().get(&(plural, namespace.to_owned(), name.to_owned())).cloned()
    }
}

fn keyed(plural: &'static str, object: Object) -> (Key, Arc<Object>) {
    let text = |name| crate::meta::text(&object, name).to_owned();
    ((plural, text("namespace"), text("name")), Arc::new(object))
}

#[async_trait]
impl Objects for Store {
    async fn cached(
        &self,
        row: &'static Resource<'static>,
        ns: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        Ok(self.read(row.plural, ns, name))
    }

    async fn get(
        &self,
        row: &'static Resource<'static>,
        ns: &str,
        name: &str,
    ) -> Result<Option<Arc<Object>>, Box<Status>> {
        let new = self.new.lock().unwrap().get(&(row.plural, ns.to_owned(), name.to_owned())).cloned();
        Ok(new.or_else(|| self.read(row.plural, ns, name)))
    }

    async fn list(&self, row: &'static Resource<'static>, ns: &str) -> Result<Vec<Arc<Object>>, Box<Status>> {
        let objects = self.objects.lock().unwrap();
        let matching = objects
            .iter()
            .filter(|((plural, of, _), _)| *plural == row.plural && (ns.is_empty() || of == ns));
        Ok(matching.map(|(_, object)| Arc::clone(object)).collect())
    }
}

#[async_trait]
impl Writes for Store {
    async fn create(&self, row: &'static Resource<'static>, object: Object) -> Verdict {
        self.put(row.plural, Value::Object(object));
        Ok(())
    }

    async fn replace_status(
        &self,
        row: &'static Resource<'static>,
        object: Object,
    ) -> Result<Object, Box<Status>> {
        let mut conflicts = self.conflicts.lock().unwrap();
        if *conflicts > 0 {
            *conflicts -= 1;
            let resource = apimachinery::gvk::GroupResource::new(row.group, row.plural);
            return Err(Status::conflict(&resource, crate::meta::text(&object, "name"), "changed").into());
        }
        self.put(row.plural, Value::Object(object.clone()));
        Ok(object)
    }
}

#[async_trait]
impl Environment for Store {
    fn random_number(&self) -> u32 {
        0
    }

    async fn sleep(&self, duration: Duration) {
        self.pauses.lock().unwrap().push(duration);
    }
}

/// A write under test. The default is the creation of pod `p` in `ns`.
pub(crate) struct Write {
    pub(crate) operation: Operation,
    pub(crate) resource: (&'static str, &'static str, &'static str),
    pub(crate) subresource: &'static str,
    pub(crate) old: Option<Object>,
    pub(crate) user: UserInfo,
    pub(crate) dry_run: bool,
    pub(crate) all: String,
}

impl Default for Write {
    fn default() -> Self {
        Write {
            operation: Operation::Create,
            resource: ("", "v1", "pods"),
            subresource: "",
            old: None,
            user: UserInfo::default(),
            dry_run: false,
            all: "All".to_owned(),
        }
    }
}

impl Write {
    /// Sets the resource.
    pub(crate) fn of(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Write { resource: (group, version, plural), ..Write::default() }
    }

    pub(crate) fn with_operation(self, operation: Operation) -> Self {
        Write { operation, ..self }
    }

    /// Turns the write into an update of `old`.
    pub(crate) fn over(self, old: Value) -> Self {
        Write { operation: Operation::Update, old: Some(object(old)), ..self }
    }

    pub(crate) fn through(self, subresource: &'static str) -> Self {
        Write { subresource, ..self }
    }

    pub(crate) fn attributes<'a>(&'a self, name: &'a str) -> Attributes<'a> {
        let (group, version, plural) = self.resource;
        let resource = resources::find(group, version, plural, "").unwrap();
        let all = std::slice::from_ref(&self.all);
        Attributes {
            operation: self.operation,
            user: &self.user,
            resource,
            endpoint: resources::find(group, version, plural, self.subresource).unwrap(),
            namespace: if resource.namespaced { "ns" } else { "" },
            name,
            generate_name: "",
            old: self.old.as_ref(),
            options: Options::Write {
                dry_run: if self.dry_run { all } else { &[] },
                field_manager: "",
                field_validation: "",
            },
            request: &REQUEST,
        }
    }

    /// True if the plugin handles the write.
    pub(crate) fn reaches(&self, plugin: &dyn Plugin) -> bool {
        plugin.handles(&self.attributes("p"))
    }

    /// Runs a deletion through the plugin. Returns the rejection message as error.
    pub(crate) fn deleted(&self, plugin: &dyn Plugin, name: &str) -> Outcome<()> {
        let attributes = self.attributes(name);
        if !plugin.handles(&attributes) {
            return Ok(());
        }
        let notes = &mut AdmissionNotes::default();
        let run = async {
            plugin.mutate(&attributes, None, notes).await?;
            plugin.validate(&attributes, None, notes).await
        };
        let done = run.now_or_never().expect("test stores and authorizers are always ready");
        done.map_err(|status| status.message)
    }

    /// Mutates an object with the plugin. Returns the rejection message as error.
    pub(crate) fn mutated(&self, plugin: &dyn Plugin, value: Value) -> Outcome<Value> {
        let mut object = object(value);
        let name = crate::meta::text(&object, "name").to_owned();
        let attributes = self.attributes(&name);
        if plugin.handles(&attributes) {
            let done =
                plugin.mutate(&attributes, Some(&mut object), &mut AdmissionNotes::default()).now_or_never();
            done.expect("test stores and authorizers are always ready").map_err(|status| status.message)?;
        }
        Ok(Value::Object(object))
    }

    /// Validates an object with the plugin. Returns the warnings, or the rejection message as error.
    pub(crate) fn validated(&self, plugin: &dyn Plugin, value: Value) -> Outcome<Vec<String>> {
        let object = object(value);
        let attributes = self.attributes(crate::meta::text(&object, "name"));
        let mut notes = AdmissionNotes::default();
        if plugin.handles(&attributes) {
            let done = plugin.validate(&attributes, Some(&object), &mut notes).now_or_never();
            done.expect("test stores and authorizers are always ready").map_err(|status| status.message)?;
        }
        Ok(notes.warnings)
    }
}

/// Authorizer that allows only the listed entries, each with verb, resource with subresource, and name.
pub(crate) struct Permits(pub(crate) &'static [&'static str]);

#[async_trait]
impl authorization::Authorizer for Permits {
    async fn decide(&self, a: authorization::Attributes<'_>) -> authorization::Decision {
        let slash = if a.subresource.is_empty() { "" } else { "/" };
        let request = format!("{} {}{slash}{} {}", a.verb, a.resource, a.subresource, a.name);
        if self.0.contains(&&*request) {
            authorization::Decision::Allow(std::sync::Arc::default())
        } else {
            authorization::Decision::NoOpinion("no".to_owned())
        }
    }
}
