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
use claims::Binding;
pub use claims::{ADMISSION_REVIEW_API_GROUPS, Attestations, Claims, Grant, Reference, WARN_AFTER_SECONDS};
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

/// Prefixes of the keys with the name and the uid of a bound object.
const EXTRA_POD: &str = "authentication.kubernetes.io/pod";
const EXTRA_VALIDATING_WEBHOOK: &str = "authentication.kubernetes.io/validatingwebhookconfiguration";
const EXTRA_MUTATING_WEBHOOK: &str = "authentication.kubernetes.io/mutatingwebhookconfiguration";
const EXTRA_NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const EXTRA_NODE_UID: &str = "authentication.kubernetes.io/node-uid";
const EXTRA_ADMISSION_REVIEW_API_GROUPS: &str =
    "attestation.authentication.kubernetes.io/admissionReviewAPIGroups";

/// Returns the user name of a service account.
pub fn username(namespace: &str, name: &str) -> String {
    format!("{USERNAME_PREFIX}{namespace}:{name}")
}

/// Returns the user of a service account, without the groups that every authenticated user has.
pub fn user_info(namespace: &str, account: &Reference) -> UserInfo {
    UserInfo {
        name: username(namespace, &account.name),
        uid: account.uid.clone(),
        groups: vec![GROUP_ALL.to_owned(), format!("{GROUP_ALL}:{namespace}")],
        extra: BTreeMap::new(),
    }
}

/// Adds the token id and its bound objects to the user's extra attributes.
fn note_binding(user: &mut UserInfo, id: &str, binding: &Binding) {
    let mut note = |key: &str, value: &str| user.extra.insert(key.to_owned(), vec![value.to_owned()]);
    let pairs = [
        (EXTRA_POD, &binding.pod),
        (EXTRA_VALIDATING_WEBHOOK, &binding.validating_webhook),
        (EXTRA_MUTATING_WEBHOOK, &binding.mutating_webhook),
    ];
    for (prefix, object) in pairs {
        if let Some(object) =
            object.as_ref().filter(|object| !object.name.is_empty() && !object.uid.is_empty())
        {
            note(&[prefix, "-name"].concat(), &object.name);
            note(&[prefix, "-uid"].concat(), &object.uid);
        }
    }
    if !id.is_empty() {
        note(EXTRA_CREDENTIAL_ID, &format!("JTI={id}"));
    }
    if let Some(node) = binding.node.as_ref().filter(|node| !node.name.is_empty()) {
        note(EXTRA_NODE_NAME, &node.name);
        if !node.uid.is_empty() {
            note(EXTRA_NODE_UID, &node.uid);
        }
    }
    if binding.is_for_webhook() {
        user.extra.insert(EXTRA_ADMISSION_REVIEW_API_GROUPS.to_owned(), binding.attested_groups().to_vec());
    }
}

#[cfg(test)]
mod testing;
