//! `CertificateSigning` lets only users with `sign` permission for the signer set the certificate of a
//! request (upstream's `plugin/pkg/admission/certificates/signing`).

use std::sync::Arc;

use api::tree::{child, list};
use apimachinery::go_quote::Quoted;
use async_trait::async_trait;
use authorization::Authorizer;
use schema::object::Object;

use crate::certificate_approval::signer_of;
use crate::{AdmissionNotes, Attributes, Operation, Plugin, Verdict, signer};

pub struct CertificateSigning {
    authorizer: Arc<dyn Authorizer>,
}

impl CertificateSigning {
    /// Checks `sign` on `signers` with `authorizer`.
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        CertificateSigning { authorizer }
    }
}

/// True if two requests have the same certificate and conditions.
fn same_outcome(new: &Object, old: &Object) -> bool {
    let empty = Object::new();
    let new = child(new, "status").unwrap_or(&empty);
    let old = child(old, "status").unwrap_or(&empty);
    new.get("certificate") == old.get("certificate") && list(new, "conditions") == list(old, "conditions")
}

#[async_trait]
impl Plugin for CertificateSigning {
    fn name(&self) -> &'static str {
        "CertificateSigning"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update
            && a.is("certificates.k8s.io", "certificatesigningrequests", "status")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(new), Some(old)) = (object, a.old) else { return Ok(()) };
        let name = signer_of(old);
        if same_outcome(new, old) || signer::allows(self.authorizer.as_ref(), a.user, "sign", name).await {
            return Ok(());
        }
        Err(a.forbidden(format!("user not permitted to sign requests with signerName {}", Quoted(name))))
    }
}

#[cfg(test)]
mod tests {
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Permits, Write};

    #[test]
    fn new_certificate_or_condition_needs_sign_permission() {
        let check = |permitted: &'static [&'static str], status: Value, expected: bool| {
            let plugin = CertificateSigning::new(Arc::new(Permits(permitted)));
            let request = |status: Value| json!({"metadata": {"name": "r"}, "spec": {"signerName": "example.com/s"}, "status": status});
            let write = Write::of("certificates.k8s.io", "v1", "certificatesigningrequests");
            let got = write.through("status").over(request(json!({}))).validated(&plugin, request(status));
            assert_eq!(got.is_ok(), expected, "{permitted:?} {got:?}");
        };
        check(&[], json!({}), true);
        check(&[], json!({"certificate": "eA=="}), false);
        check(&[], json!({"conditions": [{"type": "Failed"}]}), false);
        check(&["sign signers example.com/s"], json!({"certificate": "eA=="}), true);
    }
}
