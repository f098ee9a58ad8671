//! Tests of plugin selection and order.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use ::admission::dynamic::{DynamicAdmissionDeps, EditedObject, VersionConverter};
use ::admission::webhook::{Caller, Hooks, ReviewCallError, Target, WebhookSource};
use ::admission::{Attributes, ObjectError, Operation, Options, policy};
use ::api::resources::{Handle, Resource};
use apimachinery::user_info::UserInfo;
use component_base::weakened::WeakenedDecisions;
use schema::object::Object;

use super::*;
use crate::image_reviews::ImagePolicy;

fn names(enabled: &[&str], disabled: &[&str]) -> Vec<&'static str> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let config = AdmissionConfig { enabled: owned(enabled), disabled: owned(disabled), config_file: None };
    enabled_plugins(&config, Gates::default()).map(|plugin| plugin.name).collect()
}

#[test]
fn flags_enable_and_disable_plugins() {
    let default = names(&[], &[]);
    assert_eq!(default.len(), 24);
    assert_eq!(names(&["Priority"], &["AlwaysAdmit"]), default);
    assert_eq!(names(&["AlwaysDeny"], &[]).last(), Some(&"AlwaysDeny"));
    assert_eq!(names(&["AlwaysAdmit"], &[]).first(), Some(&"AlwaysAdmit"));
    assert!(!names(&[], &["Priority"]).contains(&"Priority"));
}

#[test]
fn no_plugin_is_listed_twice() {
    assert_eq!(PLUGINS.iter().map(|plugin| plugin.name).collect::<BTreeSet<_>>().len(), PLUGINS.len());
}

/// Stub of all dependencies. It contains no objects.
struct Nothing;

#[async_trait::async_trait]
impl Objects for Nothing {
    async fn cached(&self, _: Row, _: &str, _: &str) -> StatusResult<Option<Arc<Object>>> {
        Ok(None)
    }

    async fn get(&self, _: Row, _: &str, _: &str) -> StatusResult<Option<Arc<Object>>> {
        Ok(None)
    }

    async fn list(&self, _: Row, _: &str) -> StatusResult<Vec<Arc<Object>>> {
        Ok(Vec::new())
    }
}

impl NamespaceStates for Nothing {
    fn is_active(&self, _: &str) -> Option<bool> {
        None
    }
}

#[async_trait::async_trait]
impl Writes for Nothing {
    async fn create(&self, _: Row, _: Object) -> StatusResult<()> {
        Ok(())
    }

    async fn replace_status(&self, _: Row, object: Object) -> StatusResult<Object> {
        Ok(object)
    }
}

impl WebhookSource for Nothing {
    fn mutating(&self) -> Option<Arc<Hooks>> {
        Some(Arc::default())
    }

    fn validating(&self) -> Option<Arc<Hooks>> {
        Some(Arc::default())
    }
}

impl policy::PolicySource for Nothing {
    fn mutating(&self) -> Option<Arc<policy::Policies<policy::Mutations>>> {
        Some(Arc::new(policy::Policies::new([], [])))
    }

    fn validating(&self) -> Option<Arc<policy::Policies<policy::Validations>>> {
        Some(Arc::new(policy::Policies::new([], [])))
    }
}

#[async_trait::async_trait]
impl policy::Params for Nothing {
    fn is_namespaced(&self, _: &policy::ParamKind) -> Option<bool> {
        None
    }

    async fn get(&self, _: &policy::ParamKind, _: &str, _: &str) -> Looked<Option<policy::Param>> {
        Ok(None)
    }

    async fn list(&self, _: &policy::ParamKind, _: &str) -> Looked<Vec<policy::Param>> {
        Ok(Vec::new())
    }
}

type Looked<T> = Result<T, policy::ParamError>;

#[async_trait::async_trait]
impl Caller for Nothing {
    async fn call(&self, _: &Target, _: Vec<u8>, _: Duration) -> Result<Vec<u8>, ReviewCallError> {
        Ok(Vec::new())
    }

    fn uid(&self) -> String {
        String::new()
    }
}

#[async_trait::async_trait]
impl VersionConverter for Nothing {
    fn generation(&self) -> u64 {
        0
    }

    fn equivalents(&self, _: &Resource<'_>) -> Vec<Handle> {
        Vec::new()
    }

    async fn to_version(
        &self,
        _: &Attributes<'_>,
        object: &Object,
        _: &Resource<'_>,
    ) -> StatusResult<Object> {
        Ok(object.clone())
    }

    fn to_json(&self, _: &Object, _: &Resource<'_>) -> Result<Vec<u8>, ObjectError> {
        Ok(Vec::new())
    }

    async fn parse_json(
        &self,
        _: &Attributes<'_>,
        _: &[u8],
        _: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError> {
        Ok(EditedObject { object: Object::new(), shares_labels: false })
    }
}

type StatusResult<T> = Result<T, Box<apimachinery::status::Status>>;
type Row = &'static ::api::resources::Resource<'static>;

fn webhooks() -> Webhooks {
    Webhooks {
        source: Arc::new(Nothing),
        caller: Arc::new(Nothing),
        deps: DynamicAdmissionDeps {
            versions: Arc::new(Nothing),
            objects: Arc::new(Nothing),
            authorizer: Arc::new(authorization::AlwaysAllow),
            now: Arc::new(|| tokio::time::Instant::now().into_std()),
            run_blocking: Arc::new(|work| work()),
            conditions: Arc::default(),
            weakened: WeakenedDecisions::default(),
        },
        metrics: Arc::default(),
        excludes_reviews: true,
    }
}

fn plugin_deps() -> PluginDeps<'static> {
    PluginDeps {
        objects: Arc::new(Nothing),
        writes: Arc::new(Nothing),
        environment: Arc::new(crate::system::SystemTimers),
        namespaces: Arc::new(Nothing),
        authorizer: Arc::new(authorization::AlwaysAllow),
        pod_security: Arc::default(),
        mutating: webhooks(),
        validating: webhooks(),
        policies: PolicyDeps {
            source: Arc::new(Nothing),
            params: Arc::new(Nothing),
            deps: DynamicAdmissionDeps {
                versions: Arc::new(Nothing),
                objects: Arc::new(Nothing),
                authorizer: Arc::new(authorization::AlwaysAllow),
                now: Arc::new(|| tokio::time::Instant::now().into_std()),
                run_blocking: Arc::new(|work| work()),
                conditions: Arc::default(),
                weakened: WeakenedDecisions::default(),
            },
            metrics: Arc::default(),
        },
        pods: &PodConfig {
            allow_privileged: true,
            not_ready_toleration_seconds: 300,
            unreachable_toleration_seconds: 300,
        },
        gates: Gates::default(),
        configurations: Configurations { image_policy: Some(image_policy()), ..Configurations::default() },
    }
}

/// Image policy with an unreachable webhook.
fn image_policy() -> ImagePolicy {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let text = r#"{"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}], "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}"#;
    std::fs::write(&kubeconfig, text).unwrap();
    let configuration = format!("imagePolicy: {{kubeConfigFile: {}}}", kubeconfig.display());
    ImagePolicy::read(Some(configuration.as_bytes())).unwrap()
}

/// Returns the implemented plugins that handle an operation on any resource.
fn plugins_handling(operation: Operation) -> Vec<&'static str> {
    let handles_any = |plugin: &dyn Plugin| {
        ::api::resources::all().any(|endpoint| {
            let ::api::resources::Resource { group, version, plural, .. } = endpoint;
            let resource = ::api::resources::find(group, version, plural, "").unwrap_or(endpoint);
            plugin.handles(&Attributes {
                operation,
                user: &UserInfo::default(),
                resource,
                endpoint,
                namespace: if resource.namespaced { "ns" } else { "" },
                name: "a",
                generate_name: "",
                old: None,
                options: Options::None,
                request: &apimachinery::request_context::RequestContext::default(),
            })
        })
    };
    let built = PLUGINS.iter().filter_map(|plugin| build(plugin.name, &plugin_deps()));
    built.filter(|plugin| handles_any(&**plugin)).map(|plugin| plugin.name()).collect()
}

#[test]
fn few_plugins_handle_deletions_and_connections() {
    let deletions = ["NamespaceLifecycle", "NamespaceExists", "AlwaysDeny"];
    assert_eq!(plugins_handling(Operation::Delete), deletions);
    assert_eq!(plugins_handling(Operation::Connect), ["AlwaysDeny"]);
}

#[test]
fn every_plugin_is_built_under_its_name() {
    for plugin in PLUGINS {
        assert_eq!(build(plugin.name, &plugin_deps()).map(|plugin| plugin.name()), Some(plugin.name));
    }
}
