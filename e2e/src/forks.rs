//! Forks for the claims of a test program: all of them of one test server, which lives while any of them does.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::log;
use crate::testserver::TestServer;

/// The parent of the forks that live now.
static PARENT: Mutex<Weak<Mutex<Parent>>> = Mutex::new(Weak::new());

/// A test server that says nothing but good.
struct Parent(TestServer);

/// A control plane; it ends when this is dropped.
pub(crate) struct Fork {
    _connection: BufReader<UnixStream>,
    _parent: Arc<Mutex<Parent>>,
}

impl Fork {
    /// A new one, in which `flags` of the first one that lives hold; and the kubeconfig of its administrator.
    pub(crate) fn new(flags: &[&str]) -> (Self, serde_json::Value) {
        let parent = {
            let mut known = PARENT.lock().unwrap_or_else(PoisonError::into_inner);
            known.upgrade().unwrap_or_else(|| {
                let parent = Arc::new(Mutex::new(Parent(TestServer::start(flags))));
                *known = Arc::downgrade(&parent);
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
