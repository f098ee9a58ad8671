//! A whole server in this process, over a store in memory, for tests that want to see all of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use authorization::Authorizer;
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::dispatch::Dispatch;
use storage::Storage;

use crate::config::Config;
use crate::error::RunError;
use crate::run::{Running, start_as, system_env};

/// A server on a free port of this machine. Its files are removed when it is dropped; call
/// [`stop`](Self::stop) to see it go down in order.
pub struct TestServer {
    running: Running,
    dir: TestDir,
}

/// The bearer token of an administrator, and one of a user without any right.
const TOKENS: (&str, &str) = ("admin-token", "nobody-token");

impl TestServer {
    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// As [`run`](crate::run::run).
    pub async fn start() -> Result<Self, RunError> {
        Self::start_with(|_| {}).await
    }

    /// As [`start`](Self::start), with changes to the configuration.
    ///
    /// # Errors
    /// As [`run`](crate::run::run).
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Result<Self, RunError> {
        Self::start_under(None, change).await
    }

    /// As [`start_with`](Self::start_with), with an authorizer in place of the one that the configuration
    /// chooses.
    ///
    /// # Errors
    /// As [`run`](crate::run::run).
    pub async fn start_under(
        authorizer: Option<Arc<dyn Authorizer>>,
        change: impl FnOnce(&mut Config),
    ) -> Result<Self, RunError> {
        let dir = TestDir::new()?;
        let tokens = dir.path().join("tokens.csv");
        let lines = format!("{},admin,1,\"system:masters\"\n{},nobody,2\n", TOKENS.0, TOKENS.1);
        std::fs::write(&tokens, lines).map_err(|source| RunError::read(&tokens, source))?;
        let mut config = Config::for_tests(dir.path().to_owned());
        config.authentication.token_file = Some(tokens);
        change(&mut config);
        let mut running = start_as((authorizer, None), config, system_env()).await?;
        running.ready().await?;
        Ok(TestServer { running, dir })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.running.address)
    }

    /// PEM of what a client has to trust.
    pub fn trust(&self) -> &str {
        &self.running.trust
    }

    /// The bearer token of an administrator.
    pub fn token(&self) -> &'static str {
        TOKENS.0
    }

    /// The bearer token of a user who may do nothing.
    pub fn nobody_token(&self) -> &'static str {
        TOKENS.1
    }

    /// The store behind the server, to look at it and to write to it past the server.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.running.storage())
    }

    /// The threads of heavy requests, to keep them busy.
    pub fn heavy(&self) -> CpuPool {
        self.running.heavy().clone()
    }

    /// What is behind the chain, to hand over requests that no connection brought.
    pub fn dispatch(&self) -> Arc<dyn Dispatch> {
        Arc::clone(self.running.dispatch())
    }

    /// Where the server's files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Goes down as on a signal.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// A directory of its own, removed with the value.
pub(crate) struct TestDir(PathBuf);

impl TestDir {
    /// Makes one.
    ///
    /// # Errors
    /// [`RunError::File`].
    pub(crate) fn new() -> Result<Self, RunError> {
        #[allow(clippy::disallowed_methods, reason = "a name that no other test takes")]
        let path = std::env::temp_dir().join(format!("mainstay-{:016x}", rand::random::<u64>()));
        std::fs::create_dir(&path).map_err(|source| RunError::read(&path, source))?;
        Ok(TestDir(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
