//! Forks for a test program. All forks share one test server, which lives as long as any of them.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::log;
use crate::testserver::TestServer;

/// The test server of the present forks.
static PARENT: Mutex<Weak<Mutex<Parent>>> = Mutex::new(Weak::new());

/// A test server whose log must contain no warnings or errors.
struct Parent(TestServer);

/// A forked control plane, which ends when dropped.
pub(crate) struct Fork {
    _connection: BufReader<UnixStream>,
    _parent: Arc<Mutex<Parent>>,
}

impl Fork {
    /// Creates a fork and returns it with its admin kubeconfig. The `flags` take effect only for the first
    /// fork, which starts the test server.
    pub(crate) fn new(flags: &[&str]) -> (Self, serde_json::Value) {
        let parent = {
            let mut parent_ref = PARENT.lock().unwrap_or_else(PoisonError::into_inner);
            parent_ref.upgrade().unwrap_or_else(|| {
                let parent = Arc::new(Mutex::new(Parent(TestServer::start(flags))));
                *parent_ref = Arc::downgrade(&parent);
                parent
            })
        };
        let (connection, kubeconfig) = parent.lock().unwrap_or_else(PoisonError::into_inner).0.ask("fork");
        (Fork { _connection: connection, _parent: parent }, kubeconfig)
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let log = std::fs::read_to_string(self.0.dir.path().join("log")).unwrap_or_default();
        let unexpected = log::unexpected(&log, &[]);
        assert!(unexpected.is_empty(), "the test server logged:\n{}", unexpected.join("\n"));
    }
}
