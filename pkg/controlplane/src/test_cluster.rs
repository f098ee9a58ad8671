//! A complete server in this process with an in-memory store, for end-to-end tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use authorization::Authorizer;
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::dispatch::Dispatch;
use storage::Storage;

use crate::config::Config;
use crate::error::RunError;
use crate::run::{RunningServer, StartOverrides, start_as, system_env};

/// A server on a free loopback port. Its files are removed on drop. Call [`stop`](Self::stop) for a graceful
/// shutdown.
pub struct TestServer {
    running: RunningServer,
    dir: TestDir,
}

/// Bearer tokens of an administrator and of a user without any permission.
const TOKENS: (&str, &str) = ("admin-token", "nobody-token");

impl TestServer {
    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// See [`run`](crate::run::run).
    pub async fn start() -> Result<Self, RunError> {
        Self::start_with(|_| {}).await
    }

    /// Like [`start`](Self::start), with changes to the configuration.
    ///
    /// # Errors
    /// See [`run`](crate::run::run).
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Result<Self, RunError> {
        Self::start_under(None, change).await
    }

    /// Like [`start_with`](Self::start_with), with an authorizer instead of the configured one.
    ///
    /// # Errors
    /// See [`run`](crate::run::run).
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
        let overrides = StartOverrides { authorizer, ..StartOverrides::default() };
        let mut running = start_as(overrides, config, system_env()).await?;
        running.ready().await?;
        Ok(TestServer { running, dir })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.running.address)
    }

    /// Returns the CA certificates for clients in PEM.
    pub fn ca_certificates(&self) -> &str {
        &self.running.ca_certificates
    }

    pub fn token(&self) -> &'static str {
        TOKENS.0
    }

    /// Returns the bearer token of a user without any permission.
    pub fn nobody_token(&self) -> &'static str {
        TOKENS.1
    }

    /// Returns the store, for reads and writes that bypass the server.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.running.storage())
    }

    /// Returns the CPU pool, so that tests can keep it busy.
    pub fn cpu_pool(&self) -> CpuPool {
        self.running.cpu_pool().clone()
    }

    /// Returns the request dispatcher, for requests without a connection.
    pub fn dispatch(&self) -> Arc<dyn Dispatch> {
        Arc::clone(self.running.dispatch())
    }

    /// Returns the directory of the server's files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Shuts down as on a signal.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// A temporary directory, removed on drop.
pub(crate) struct TestDir(PathBuf);

impl TestDir {
    /// Creates a directory.
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
