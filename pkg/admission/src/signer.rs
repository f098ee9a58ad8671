//! Authorization of users for certificate signers (upstream's `pkg/certauthorization`).

use apimachinery::user_info::UserInfo;
use authorization::{Attributes, Authorizer, Decision};

/// True if a user is authorized for `verb` on a signer, or on all signers of its domain (`example.com/*`).
pub(crate) async fn allows(authorizer: &dyn Authorizer, user: &UserInfo, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer, &format!("{domain}/*")] {
        let attributes = Attributes {
            verb,
            resource_request: true,
            group: "certificates.k8s.io",
            version: "*",
            resource: "signers",
            name,
            ..Attributes::of_user(user)
        };
        if matches!(authorizer.decide(attributes).await, Decision::Allow(_)) {
            return true;
        }
    }
    false
}
