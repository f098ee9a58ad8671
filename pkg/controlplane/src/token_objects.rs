//! Look-ups of the objects in service account tokens, for authentication.

use std::fmt::Display;
use std::sync::Arc;

use api::resources::StorageSpec;
use apimachinery::foreign_text::ForeignText;
use apimachinery::go_quote::quote;
use async_trait::async_trait;
use authentication::Error;
use authentication::service_account::{ObjectKind, ObjectState, SecretState, TokenObjects};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::Value;
use registry::client::{Client, LookupError, ReadFreshness};
use registry::{Element, Registry, StoredRef, codec, meta};
use schema::object::{Object, get_str, set};
use schema::proto::{Envelope, meta::Header};

/// The label with the date from which a secret's token is invalid.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// The label with the date of the last use of a secret's token.
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";

/// Looks up objects in the watch cache, and in the store only if they are missing there (upstream's
/// `tokengetter`).
pub(crate) struct StoredTokenObjects {
    accounts: Client,
    pods: Client,
    secrets: Client,
    nodes: Client,
    validating_webhooks: Client,
    mutating_webhooks: Client,
}

impl StoredTokenObjects {
    /// # Errors
    /// One of the kinds is not served.
    pub(crate) fn new(registry: &Registry) -> Result<Self, LookupError> {
        let client = |plural| Client::find(registry, "", plural);
        let webhooks = |plural| Client::find(registry, "admissionregistration.k8s.io", plural);
        Ok(StoredTokenObjects {
            accounts: client("serviceaccounts")?,
            pods: client("pods")?,
            secrets: client("secrets")?,
            nodes: client("nodes")?,
            validating_webhooks: webhooks("validatingwebhookconfigurations")?,
            mutating_webhooks: webhooks("mutatingwebhookconfigurations")?,
        })
    }
}

fn unavailable(error: impl Display) -> Error {
    Error::Unavailable(ForeignText::displayed(error))
}

/// Returns the object and its storage.
async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(&'static StorageSpec<'static>, Arc<Element>), Error> {
    if name.is_empty() {
        return Err(Error::Credential("resource name may not be empty".into()));
    }
    let plural = client.row().plural;
    let storage = client
        .row()
        .storage
        .as_ref()
        .ok_or_else(|| Error::Unavailable(format!("{plural} are not stored").into()))?;
    let element = match client.element(namespace, name, ReadFreshness::Cached).await {
        Ok(Some(element)) => Some(element),
        Ok(None) | Err(_) => {
            client.element(namespace, name, ReadFreshness::Latest).await.map_err(unavailable)?
        }
    };
    Ok((
        storage,
        element.ok_or_else(|| Error::Credential(format!("{plural} {} not found", quote(name)).into()))?,
    ))
}

#[async_trait]
impl TokenObjects for StoredTokenObjects {
    async fn state(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectState, Error> {
        let client = match kind {
            ObjectKind::ServiceAccount => &self.accounts,
            ObjectKind::Pod => &self.pods,
            ObjectKind::Secret => &self.secrets,
            ObjectKind::Node => &self.nodes,
            ObjectKind::ValidatingWebhookConfiguration => &self.validating_webhooks,
            ObjectKind::MutatingWebhookConfiguration => &self.mutating_webhooks,
        };
        let (storage, element) = find(client, namespace, name).await?;
        match live_uid(&element) {
            Some(uid) => Ok(ObjectState { uid, deletion: None }),
            None => Ok(state(&codec::decode(storage, StoredRef::element(&element)).map_err(unavailable)?)),
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<SecretState, Error> {
        let (storage, element) = find(&self.secrets, namespace, name).await?;
        let secret = codec::decode(storage, StoredRef::element(&element)).map_err(unavailable)?;
        let token = STANDARD.decode(get_str(&secret, &["data", "token"]).unwrap_or(""));
        let token = token.map_err(unavailable)?;
        let label = |name| get_str(&secret, &["metadata", "labels", name]).unwrap_or("").to_owned();
        let invalid_since = label(INVALID_SINCE);
        let last_used = label(LAST_USED);
        Ok(SecretState { state: state(&secret), token, invalid_since, last_used })
    }

    async fn lists_secret(&self, namespace: &str, account: &str, secret: &str) -> bool {
        let account = self.accounts.get(namespace, account, ReadFreshness::Cached).await;
        let Ok(Some(account)) = account else { return false };
        let Some(Value::Array(listed)) = account.get("secrets") else { return false };
        listed.iter().any(|listed| listed["name"] == secret)
    }

    async fn mark_used(&self, namespace: &str, name: &str, uid: &str, today: &str) {
        let mut mark = |old: &Object| {
            let mut marked = old.clone();
            // The secret was replaced by another one with the same name.
            if meta::text(old, "uid") == uid {
                set(&mut marked, &["metadata", "labels", LAST_USED], today);
            }
            Ok(marked)
        };
        if let Err(status) = self.secrets.update(namespace, name, &mut mark).await {
            let error = &status.message;
            tracing::error!(
                namespace,
                name,
                error,
                "failed to label a legacy service account token with its last use"
            );
        }
    }
}

fn state(object: &Object) -> ObjectState {
    let uid = meta::text(object, "uid").to_owned();
    ObjectState { uid, deletion: meta::deletion_seconds(object) }
}

/// Returns the uid of an object without deletion timestamp, without decoding it. This runs for every request
/// with a token. `None` if the envelope does not contain enough data.
fn live_uid(element: &Element) -> Option<String> {
    let value = element.value().ok().filter(|value| Envelope::recognizes(value))?;
    let envelope = Envelope::parse(value).ok()?;
    let header = Header::parse(envelope.raw).ok()?;
    (!header.deleting).then(|| header.uid.to_owned())
}
