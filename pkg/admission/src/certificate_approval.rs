//! `CertificateApproval` lets only users with `approve` permission for the signer approve or deny a request
//! (upstream's `plugin/pkg/admission/certificates/approval`).

use std::sync::Arc;

use api::tree::{child, text};
use async_trait::async_trait;
use authorization::Authorizer;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Operation, Plugin, Verdict, signer};

pub struct CertificateApproval {
    authorizer: Arc<dyn Authorizer>,
}

impl CertificateApproval {
    /// Checks `approve` on `signers` with `authorizer`.
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        CertificateApproval { authorizer }
    }
}

/// Returns the signer name of a certificate signing request.
pub(crate) fn signer_of(request: &Object) -> &str {
    child(request, "spec").map_or("", |spec| text(spec, "signerName"))
}

#[async_trait]
impl Plugin for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update
            && a.is("certificates.k8s.io", "certificatesigningrequests", "approval")
    }

    async fn validate(&self, a: &Attributes<'_>, _: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(old) = a.old else { return Ok(()) };
        let name = signer_of(old);
        if signer::allows(self.authorizer.as_ref(), a.user, "approve", name).await {
            Ok(())
        } else {
            Err(a.forbidden(format!("user not permitted to approve requests with signerName {name:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::testing::{Permits, Write};

    #[test]
    fn approval_needs_permission_for_signer() {
        let check = |permitted: &'static [&'static str], expected: bool| {
            let plugin = CertificateApproval::new(Arc::new(Permits(permitted)));
            let request = json!({"metadata": {"name": "r"}, "spec": {"signerName": "example.com/s"}});
            let write = Write::of("certificates.k8s.io", "v1", "certificatesigningrequests");
            let got = write.through("approval").over(request.clone()).validated(&plugin, request);
            let refusal = "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted to \
                           approve requests with signerName \"example.com/s\"";
            assert_eq!(got.err(), (!expected).then(|| refusal.to_owned()), "{permitted:?}");
        };
        check(&[], false);
        check(&["sign signers example.com/s"], false);
        check(&["approve signers example.com/s"], true);
        check(&["approve signers example.com/*"], true);
    }
}
