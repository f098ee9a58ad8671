//! `CertificateSubjectRestriction` rejects requests for client certificates of the group `system:masters`
//! (upstream's `plugin/pkg/admission/certificates/subjectrestriction`).

use api::tree::{child, text};
use apimachinery::user_info::GROUP_MASTERS;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schema::object::Object;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

use crate::certificate_approval::signer_of;
use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

/// The signer of client certificates that this server accepts for authentication.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

pub struct CertificateSubjectRestriction;

/// Applies `look` to the subject of the requested certificate.
pub(crate) fn subject<T>(request: &Object, look: impl FnOnce(&X509Name<'_>) -> T) -> Result<T, &'static str> {
    let encoded = child(request, "spec").map_or("", |spec| text(spec, "request"));
    let pem = STANDARD.decode(encoded).map_err(|_| "the request is not base64")?;
    let (_, pem) = parse_x509_pem(&pem).map_err(|_| "PEM block type must be CERTIFICATE REQUEST")?;
    if pem.label != "CERTIFICATE REQUEST" {
        return Err("PEM block type must be CERTIFICATE REQUEST");
    }
    let (_, parsed) = X509CertificationRequest::from_der(&pem.contents)
        .map_err(|_| "the request is no PKCS #10 structure")?;
    Ok(look(&parsed.certification_request_info.subject))
}

/// True if the requested certificate has the organization `system:masters`.
fn requests_masters_group(request: &Object) -> Result<bool, &'static str> {
    subject(request, |subject| subject.iter_organization().any(|group| group.as_str() == Ok(GROUP_MASTERS)))
}

#[async_trait]
impl Plugin for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is("certificates.k8s.io", "certificatesigningrequests", "")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(request) = object.filter(|request| signer_of(request) == CLIENT_SIGNER) else {
            return Ok(());
        };
        match requests_masters_group(request) {
            Ok(false) => Ok(()),
            Ok(true) => Err(a.forbidden(format!(
                "use of {CLIENT_SIGNER} signer with {GROUP_MASTERS} group is not allowed"
            ))),
            Err(cause) => Err(a.forbidden(format!("failed to parse CSR: {cause}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;
    use crate::testing::Write;

    fn request(organization: &str) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, organization);
        let signed = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        STANDARD.encode(signed.pem().unwrap())
    }

    #[test]
    fn client_certificates_for_system_masters_are_rejected() {
        let check = |signer: &str, request: String, expected: Option<&str>| {
            let csr = json!({"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": request}});
            let write = Write::of("certificates.k8s.io", "v1", "certificatesigningrequests");
            let got = write.validated(&CertificateSubjectRestriction, csr).err();
            let message = |cause: &str| {
                format!("certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: {cause}")
            };
            assert_eq!(got, expected.map(message));
        };
        check(CLIENT_SIGNER, request("developers"), None);
        let refusal =
            "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        check(CLIENT_SIGNER, request("system:masters"), Some(refusal));
        check("example.com/s", request("system:masters"), None);
        let refusal = "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST";
        check(CLIENT_SIGNER, STANDARD.encode("x"), Some(refusal));
    }
}
