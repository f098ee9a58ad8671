//! What is behind the chain: the API, what it has to do at start, and what it brings along.

use std::sync::Arc;

use admission::{Chain, NamespaceLifecycle};
use api::resources::Resource;
use authentication::TokenAuthenticator;
use authorization::Mode;
use cacher::Delegator;
use endpoints::discovery::{Discovery, Group, VersionInfo, builtin_groups};
use endpoints::dispatch::Dispatch;
use endpoints::openapi::OpenApi;
use futures::future::BoxFuture;
use registry::Registry;
use server::metrics::Collector;
use storage::Storage;
use tokio_util::sync::CancellationToken;

use crate::bootstrap;
use crate::config::Config;
use crate::namespaces::StoredNamespaces;
use crate::run::RunError;
use crate::system::{SystemClock, SystemEntropy};

/// An API that is ready to be put behind a chain.
pub struct Api {
    /// Answers requests.
    pub dispatch: Arc<dyn Dispatch>,
    /// The paths to list at `/`.
    pub paths: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Work to be done once the store answers; the server is ready when all of it is done.
    pub hooks: Vec<PostStartHook>,
    /// Further kinds of bearer tokens.
    pub token_authenticators: Vec<Arc<dyn TokenAuthenticator>>,
    /// Further metrics.
    pub collectors: Vec<Arc<dyn Collector>>,
}

/// Work to be done at start, listed in health as `poststarthook/NAME`.
pub struct PostStartHook {
    /// Upstream's name of what it does.
    pub name: &'static str,
    /// Does it. An error ends the process.
    pub work: BoxFuture<'static, Result<(), String>>,
}

/// Builds the API over a store. Streams end with `shutdown`.
///
/// # Errors
/// What keeps the server from starting.
pub async fn build(
    config: &Config,
    storage: Arc<dyn Storage>,
    shutdown: CancellationToken,
) -> Result<Api, RunError> {
    let registry = Registry::new(
        Delegator::new(storage),
        config.storage.prefix(),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
        config.event_ttl,
    );
    let lifecycle = NamespaceLifecycle::new(Arc::new(StoredNamespaces(registry.clone())));
    let groups = builtin_groups(|row| !row.off_by_default);
    let paths = paths(&groups);
    let address = format!("{}:{}", config.advertise_address, config.serving.bind.address.port());
    let dispatch = endpoints::api::Api {
        registry: registry.clone(),
        admission: Chain::new(vec![Box::new(lifecycle)]),
        authorizer: Mode::authorizer(&config.authorization_modes),
        documents: vec![
            Box::new(Discovery::new(groups, address, &VersionInfo::of_this_build())),
            Box::new(OpenApi::new(
                Arc::new(|row: &Resource| !row.off_by_default),
                Vec::new(),
                Arc::new(SystemClock),
            )),
        ],
        watch_timeout_min: config.watch_min,
        jitter: Arc::new(|| rand::random_range(0.0..1.0)),
        shutdown,
    };
    let namespaces = PostStartHook {
        name: "start-system-namespaces-controller",
        work: Box::pin(async move { bootstrap::system_namespaces(&registry).await }),
    };
    Ok(Api {
        dispatch: Arc::new(dispatch),
        paths: Arc::new(move || paths.clone()),
        hooks: vec![namespaces],
        token_authenticators: Vec::new(),
        collectors: Vec::new(),
    })
}

/// The paths of the documents, for the list at `/`.
fn paths(groups: &[Group]) -> Vec<String> {
    let mut paths: Vec<String> =
        ["/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
            .map(str::to_owned)
            .to_vec();
    for group in groups {
        let versions = group.versions.iter().map(|version| group.group_version(version));
        match group.name.as_ref() {
            "" => paths.extend(versions.map(|version| format!("/api/{version}"))),
            name => {
                paths.push(format!("/apis/{name}"));
                paths.extend(versions.map(|version| format!("/apis/{version}")));
            }
        }
    }
    paths
}
