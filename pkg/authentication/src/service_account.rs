//! Tokens of service accounts: signed for whoever asks the API for one, and verified against the
//! objects that they name, so that a token ends with its pod (KEP-1205, KEP-2799, KEP-4193; upstream's
//! `pkg/serviceaccount`).
//!
//! Two kinds are accepted: what [`Issuer`] signs, bound to objects and a time ([`BoundTokens`]), and what
//! older releases kept in Secrets ([`LegacyTokens`]). Where the objects are, a [`TokenObjects`] knows.

mod bound;
mod claims;
mod counters;
mod discovery;
pub(crate) mod es512;
mod external;
mod issuer;
mod keys;
mod legacy;
mod objects;
mod verification_keys;
mod verifier;

use std::collections::BTreeMap;

use apimachinery::user_info::UserInfo;

pub use bound::BoundTokens;
pub use claims::{Claims, Grant, Reference, WARN_AFTER_SECONDS};
pub use counters::TokenCounters;
pub use discovery::{DiscoveryError, OpenIdDocuments, OpenIdMetadata};
pub use external::{
    ExternalKey, ExternalKeySet, ExternalKeys, ExternalSignature, ExternalSigner, SignerError, SignerFigures,
};
pub use issuer::{Issuer, Signer};
pub use keys::{KeyError, PublicKeys, SigningKey};
pub use legacy::{LegacyTokens, split_username};
pub use objects::{ObjectKind, ObjectState, SecretState, TokenObjects};
pub use verification_keys::VerificationKeys;

use crate::EXTRA_CREDENTIAL_ID;

/// What names of service accounts begin with, among those of all users.
const USERNAME_PREFIX: &str = "system:serviceaccount:";
/// The group of all service accounts.
const GROUP_ALL: &str = "system:serviceaccounts";

const EXTRA_POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const EXTRA_POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const EXTRA_NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const EXTRA_NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// How a service account is called among all users.
pub fn username(namespace: &str, name: &str) -> String {
    format!("{USERNAME_PREFIX}{namespace}:{name}")
}

/// The user that a service account is.
fn user(namespace: &str, account: &Reference) -> UserInfo {
    UserInfo {
        name: username(namespace, &account.name),
        uid: account.uid.clone(),
        groups: vec![GROUP_ALL.to_owned(), format!("{GROUP_ALL}:{namespace}")],
        extra: BTreeMap::new(),
    }
}

/// Notes on a user which token it came with and what that token is bound to.
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
