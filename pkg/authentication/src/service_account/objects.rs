//! Objects that tokens refer to, reduced to the parts that matter for tokens.

use crate::Error;
use apimachinery::time::UnixTime;
use async_trait::async_trait;

/// Kind of an object in a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    ServiceAccount,
    /// In the namespace of the service account.
    Pod,
    /// In the namespace of the service account.
    Secret,
    Node,
    ValidatingWebhookConfiguration,
    MutatingWebhookConfiguration,
}

impl ObjectKind {
    /// Returns the name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            ObjectKind::ServiceAccount => "service account",
            ObjectKind::Pod => "pod",
            ObjectKind::Secret => "secret",
            ObjectKind::Node => "node",
            ObjectKind::ValidatingWebhookConfiguration => "ValidatingWebhookConfiguration",
            ObjectKind::MutatingWebhookConfiguration => "MutatingWebhookConfiguration",
        }
    }

    /// Returns the name of the claim for messages. Both kinds of webhooks have the same.
    pub(super) fn claim(self) -> &'static str {
        match self {
            ObjectKind::ValidatingWebhookConfiguration | ObjectKind::MutatingWebhookConfiguration => {
                "validating"
            }
            other => other.name(),
        }
    }

    /// True if objects of the kind are in the namespace of the service account.
    pub(super) fn is_namespaced(self) -> bool {
        matches!(self, ObjectKind::ServiceAccount | ObjectKind::Pod | ObjectKind::Secret)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectState {
    pub uid: String,
    /// The deletion time in seconds since 1970, if the object is under deletion.
    pub deletion: Option<i64>,
}

impl ObjectState {
    /// True if the deletion time is before `time`.
    pub(super) fn deleted_before(&self, time: UnixTime) -> bool {
        self.deletion.is_some_and(|at| UnixTime::from_seconds(at) < time)
    }
}

/// A secret that may contain a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretState {
    pub state: ObjectState,
    /// The data key `token`.
    pub token: Vec<u8>,
    /// The label `kubernetes.io/legacy-token-invalid-since`; empty if missing.
    pub invalid_since: String,
    /// The label `kubernetes.io/legacy-token-last-used`; empty if missing.
    pub last_used: String,
}

/// Look-up of the objects in tokens. An object may be slightly stale, but an existing object must be found.
#[async_trait]
pub trait TokenObjects: Send + Sync + 'static {
    /// Looks up an object; `namespace` is empty for nodes and webhook configurations.
    ///
    /// # Errors
    /// The error message; that of a 404 if the object does not exist.
    async fn state(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectState, Error>;

    /// Looks up a secret with a token.
    ///
    /// # Errors
    /// Like [`state`](Self::state).
    async fn secret(&self, namespace: &str, name: &str) -> Result<SecretState, Error>;

    /// True if a service account lists the secret. Such a secret was auto-generated for it.
    async fn lists_secret(&self, namespace: &str, account: &str, secret: &str) -> bool;

    /// Records today's use of the token on its secret. Logs a failure.
    async fn mark_used(&self, namespace: &str, name: &str, uid: &str, today: &str);
}
