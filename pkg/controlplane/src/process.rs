//! What the parts of a server share of the process that they are in.

use std::path::PathBuf;
use std::sync::Arc;

use authorization::Authorizer;
use endpoints::cpu_pool::CpuPool;
use endpoints::watch::drain::WatchDrain;
use tokio_util::sync::CancellationToken;

use crate::loopback::Loopback;
use crate::template::Template;
use controllers::tasks::Tasks;

/// What an API needs to know of the process that it is in.
pub(crate) struct Process {
    /// Watches end with it.
    pub(crate) watch_drain: WatchDrain,
    /// Connections that were handed over to others end with it.
    pub(crate) shutdown: CancellationToken,
    /// The files with the authorities by whose certificates clients log in.
    pub(crate) client_authorities: Vec<PathBuf>,
    /// What goes on beside requests.
    pub(crate) tasks: Tasks,
    /// Who decides what users may do, if not the modes of the configuration.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The threads of heavy requests.
    pub(crate) heavy: CpuPool,
    /// What the process may take of the machine's memory, in bytes.
    pub(crate) memory_limit: Option<u64>,
    /// How the server calls itself.
    pub(crate) loopback: Loopback,
    /// Calls of webhooks.
    pub(crate) webhooks: Arc<client::webhook::Figures>,
    /// What its parent held; none for a server that is no fork.
    pub(crate) template: Option<Arc<Template>>,
}
