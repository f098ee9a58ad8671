//! The objects that tokens of service accounts name, as authentication asks for them.

use std::sync::Arc;

use api::resources::{self, Storage as StorageRow};
use apimachinery::status::Status;
use async_trait::async_trait;
use authentication::service_account::{ObjectKind, ObjectState, SecretState, TokenObjects};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry::{Element, Registry, StoredRef, Target, codec, meta};
use schema::object::{Object, get_str};
use schema::proto::{Envelope, meta::Header};

/// The label that says since when a secret's token does not count.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// Looks objects up through the registry: in the watch cache, and only if they are not there in the
/// store (upstream's `tokengetter`).
pub(crate) struct StoredTokenObjects(pub(crate) Registry);

impl StoredTokenObjects {
    async fn find(
        &self,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(&'static StorageRow<'static>, Arc<Element>), String> {
        if name.is_empty() {
            return Err("resource name may not be empty".to_owned());
        }
        let row = resources::find("", "v1", plural, "").ok_or_else(|| format!("{plural} are not served"))?;
        let storage = row.storage.as_ref().ok_or_else(|| format!("{plural} are not stored"))?;
        let target = Target { row, namespace, name };
        let found = match self.0.get(&target, "0").await {
            Err(_) => self.0.get(&target, "").await,
            found => found,
        };
        found.map(|element| (storage, element)).map_err(|status: Box<Status>| status.message)
    }
}

#[async_trait]
impl TokenObjects for StoredTokenObjects {
    async fn state(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectState, String> {
        let plural = match kind {
            ObjectKind::ServiceAccount => "serviceaccounts",
            ObjectKind::Pod => "pods",
            ObjectKind::Secret => "secrets",
            ObjectKind::Node => "nodes",
        };
        let (storage, element) = self.find(plural, namespace, name).await?;
        match living_uid(&element) {
            Some(uid) => Ok(ObjectState { uid, deletion: None }),
            None => Ok(state(&codec::decode(storage, StoredRef::element(&element))?)),
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<SecretState, String> {
        let (storage, element) = self.find("secrets", namespace, name).await?;
        let secret = codec::decode(storage, StoredRef::element(&element))?;
        let token = STANDARD.decode(get_str(&secret, &["data", "token"]).unwrap_or(""));
        let token = token.map_err(|error| error.to_string())?;
        let invalid_since = get_str(&secret, &["metadata", "labels", INVALID_SINCE]).unwrap_or("").to_owned();
        Ok(SecretState { state: state(&secret), token, invalid_since })
    }
}

fn state(object: &Object) -> ObjectState {
    let uid = meta::text(object, "uid").to_owned();
    ObjectState { uid, deletion: meta::deletion_seconds(object) }
}

/// The uid of an object that nobody has asked to delete, without decoding it: this is done for every
/// request that comes with a token. `None` where that says too little.
fn living_uid(element: &Element) -> Option<String> {
    let value = element.value().ok().filter(|value| Envelope::recognizes(value))?;
    let envelope = Envelope::parse(value).ok()?;
    let header = Header::parse(envelope.raw).ok()?;
    (!header.deleting).then(|| header.uid.to_owned())
}
