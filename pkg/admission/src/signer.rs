//! Who may speak for a signer of certificates (upstream's `pkg/certauthorization`).

use apimachinery::request_info::RequestInfo;
use apimachinery::user_info::UserInfo;
use authorization::{Attributes, Authorizer, Decision};

/// Whether a user may do `verb` on a signer, or on all signers of its domain (`example.com/*`).
pub(crate) async fn allows(authorizer: &dyn Authorizer, user: &UserInfo, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer.to_owned(), format!("{domain}/*")] {
        let info = RequestInfo {
            is_resource: true,
            verb: verb.to_owned(),
            group: "certificates.k8s.io".to_owned(),
            version: "*".to_owned(),
            resource: "signers".to_owned(),
            name,
            ..RequestInfo::default()
        };
        if authorizer.decide(Attributes { user, info: &info }).await == Decision::Allow {
            return true;
        }
    }
    false
}
