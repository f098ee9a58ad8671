//! Service account tokens. They are verified against the objects that they are bound to, so a token ends with
//! its pod (KEP-1205, KEP-2799, KEP-4193; upstream's `pkg/serviceaccount`).
//!
//! Two kinds are accepted: bound tokens that [`Issuer`] signs ([`BoundTokens`]), and tokens in Secrets from
//! older releases ([`LegacyTokens`]). A [`TokenObjects`] looks up the objects.

mod bound;
mod claims;
mod discovery;
pub(crate) mod es512;
mod external;
mod issuer;
mod keys;
mod legacy;
mod metrics;
mod objects;
mod verification_keys;
mod verifier;

use std::collections::BTreeMap;

use apimachinery::user_info::UserInfo;

pub use bound::BoundTokens;
pub use claims::{Claims, Grant, Reference, WARN_AFTER_SECONDS};
pub use discovery::{DiscoveryError, OpenIdDocuments, OpenIdMetadata};
pub use external::{
    ExternalKey, ExternalKeySet, ExternalKeys, ExternalSignature, ExternalSigner, SignerError, SignerMetrics,
};
pub use issuer::{Issuer, Signer};
pub use keys::{KeyError, PublicKeys, SigningKey};
pub use legacy::{LegacyTokens, split_username};
pub use metrics::TokenMetrics;
pub use objects::{ObjectKind, ObjectState, SecretState, TokenObjects};
pub use verification_keys::VerificationKeys;

use crate::EXTRA_CREDENTIAL_ID;

/// Prefix of the user names of service accounts.
const USERNAME_PREFIX: &str = "system:serviceaccount:";
const GROUP_ALL: &str = "system:serviceaccounts";

const EXTRA_POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const EXTRA_POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const EXTRA_NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const EXTRA_NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// Returns the user name of a service account.
pub fn username(namespace: &str, name: &str) -> String {
    format!("{USERNAME_PREFIX}{namespace}:{name}")
}

fn user(namespace: &str, account: &Reference) -> UserInfo {
    UserInfo {
        name: username(namespace, &account.name),
        uid: account.uid.clone(),
        groups: vec![GROUP_ALL.to_owned(), format!("{GROUP_ALL}:{namespace}")],
        extra: BTreeMap::new(),
    }
}

/// Adds the token id and its bound objects to the user's extra attributes.
fn note_binding(user: &mut UserInfo, id: &str, pod: Option<&Reference>, node: Option<&Reference>) {
    let mut note = |key: &str, value: &str| user.extra.insert(key.to_owned(), vec![value.to_owned()]);
    if let Some(pod) = pod.filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
        note(EXTRA_POD_NAME, &pod.name);
        note(EXTRA_POD_UID, &pod.uid);
    }
    if !id.is_empty() {
        note(EXTRA_CREDENTIAL_ID, &format!("JTI={id}"));
    }
    if let Some(node) = node.filter(|node| !node.name.is_empty()) {
        note(EXTRA_NODE_NAME, &node.name);
        if !node.uid.is_empty() {
            note(EXTRA_NODE_UID, &node.uid);
        }
    }
}

#[cfg(test)]
mod testing;
