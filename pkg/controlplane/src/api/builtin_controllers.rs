//! The built-in controllers of a server without kube-controller-manager.

use std::sync::Arc;

use controllers::loopback_client::LoopbackClient;
use controllers::manager::{Aggregated, ControllerManager, CurrentCatalog, ManagerOptions};
use endpoints::routing::served::ServedApi;
use futures::FutureExt;
use futures::future::BoxFuture;
use registry::Registry;

use super::remote_servers::loopback;
use crate::config::Config;
use crate::error::RunError;
use crate::process::ProcessContext;

/// Builds the task of the controllers, if they are configured. It starts shortly after the server is ready, so
/// that the start of a server, and of each fork, does not wait for it.
///
/// # Errors
/// A required kind is not served, or the credentials of the server are unusable.
pub(super) fn builtin_controllers(
    config: &Config,
    registry: &Registry,
    served: &Arc<ServedApi>,
    process: &ProcessContext,
) -> Result<Option<BoxFuture<'static, ()>>, RunError> {
    if !config.builtin_controllers {
        return Ok(None);
    }
    let catalog = Arc::clone(served);
    let catalog: CurrentCatalog = Arc::new(move || Arc::clone(&catalog.now().catalog));
    let client = LoopbackClient::new(process.loopback.credentials(), loopback(config))?;
    let options = ManagerOptions {
        remote: Arc::new(Aggregated::new(Arc::clone(&catalog), client)),
        catalog,
        catalog_changes: served.changes(),
        root_ca: Arc::clone(&process.ca_certificates),
    };
    let manager = ControllerManager::new(registry, options)?;
    let start = process.tasks.deferred();
    let run = async move {
        start.await;
        manager.run().await;
    };
    Ok(Some(run.boxed()))
}
