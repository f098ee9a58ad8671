//! The objects that tokens name, as far as tokens depend on them.

use apimachinery::time::UnixTime;
use async_trait::async_trait;

/// A kind of object that a token can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Whom it stands for.
    ServiceAccount,
    /// What it may be bound to, in the namespace of the service account.
    Pod,
    /// What it may be bound to, in the namespace of the service account.
    Secret,
    /// What it may be bound to.
    Node,
}

impl ObjectKind {
    /// What refusals call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            ObjectKind::ServiceAccount => "service account",
            ObjectKind::Pod => "pod",
            ObjectKind::Secret => "secret",
            ObjectKind::Node => "node",
        }
    }
}

/// The state of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectState {
    /// Its uid.
    pub uid: String,
    /// When it is to be gone, if its deletion was asked for; in seconds since 1970.
    pub deletion: Option<i64>,
}

impl ObjectState {
    /// Whether the object was to be gone before a time.
    pub(super) fn deleted_before(&self, time: UnixTime) -> bool {
        self.deletion.is_some_and(|at| UnixTime::from_seconds(at) < time)
    }
}

/// A secret that may hold a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretState {
    /// Its state.
    pub state: ObjectState,
    /// The data `token`.
    pub token: Vec<u8>,
    /// The label `kubernetes.io/legacy-token-invalid-since`; empty when absent.
    pub invalid_since: String,
    /// The label `kubernetes.io/legacy-token-last-used`; empty when absent.
    pub last_used: String,
}

/// Knows the objects that tokens name. An object may be seen as it was a moment ago, but none may be
/// missing that is there.
#[async_trait]
pub trait TokenObjects: Send + Sync + 'static {
    /// Looks an object up; `namespace` is empty for nodes.
    ///
    /// # Errors
    /// The message of the failure; that of a 404 when there is no such object.
    async fn state(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectState, String>;

    /// Looks up a secret with a token in it.
    ///
    /// # Errors
    /// As for [`state`](Self::state).
    async fn secret(&self, namespace: &str, name: &str) -> Result<SecretState, String>;

    /// Whether a service account lists a secret among its own: it was made for it, not by somebody.
    async fn lists_secret(&self, namespace: &str, account: &str, secret: &str) -> bool;

    /// Notes on a secret that its token was used today. A failure is logged.
    async fn mark_used(&self, namespace: &str, name: &str, uid: &str, today: &str);
}
