//! Client certificates to users: the common name is the user name, the organizations are the groups.

use std::collections::BTreeMap;
use std::fmt::Write;

use apimachinery::user_info::UserInfo;
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::Oid;
use x509_parser::der_parser::asn1_rs::oid;
use x509_parser::nom;
use x509_parser::prelude::{FromDer, X509Error};

use crate::EXTRA_CREDENTIAL_ID;

/// The subject attribute with the user's uid (KEP-4827, `AllowParsingUserUIDFromCertAuth`).
const UID_OID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// Identity in a client certificate. The signature is not checked here: the caller verifies the chain first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The user, or `None` for a certificate without a common name.
    pub user: Option<UserInfo>,
    /// Expiry in seconds since 1970. It applies to open connections too.
    pub not_after: i64,
}

/// Error in a verified certificate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot parse the client certificate: {0}")]
    Malformed(#[from] nom::Err<X509Error>),
    #[error("expected 1 UID, but found multiple: {0:?}")]
    SeveralUids(Vec<String>),
    #[error("UID cannot be an empty string")]
    EmptyUid,
    #[error("unable to parse UID into a string")]
    UidNotText,
}

impl ClientCertificate {
    /// Parses a DER certificate. Without `reads_uid`, the user has no uid (`AllowParsingUserUIDFromCertAuth`).
    ///
    /// # Errors
    /// [`CertificateError`]. The request is rejected with 401.
    pub fn parse(der: &[u8], reads_uid: bool) -> Result<Self, CertificateError> {
        let (_, certificate) = X509Certificate::from_der(der)?;
        let subject = certificate.subject();
        let name = subject.iter_common_name().last().and_then(|cn| cn.as_str().ok()).unwrap_or_default();
        let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned).collect();
        let user = match name {
            "" => None,
            name => Some(UserInfo {
                name: name.to_owned(),
                uid: if reads_uid { uid(&certificate)? } else { String::new() },
                groups,
                extra: BTreeMap::from([(EXTRA_CREDENTIAL_ID.to_owned(), vec![credential_id(der)])]),
            }),
        };
        Ok(ClientCertificate { user, not_after: certificate.validity().not_after.timestamp() })
    }
}

fn uid(certificate: &X509Certificate<'_>) -> Result<String, CertificateError> {
    let mut uids = Vec::new();
    for attribute in certificate.subject().iter_by_oid(&UID_OID) {
        uids.push(attribute.as_str().map_err(|_| CertificateError::UidNotText)?.to_owned());
    }
    match uids.len() {
        0 => Ok(String::new()),
        1 if uids.iter().all(String::is_empty) => Err(CertificateError::EmptyUid),
        1 => Ok(uids.swap_remove(0)),
        _ => Err(CertificateError::SeveralUids(uids)),
    }
}

fn credential_id(der: &[u8]) -> String {
    let mut id = String::from("X509SHA256=");
    for byte in Sha256::digest(der) {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    fn certificate(attributes: &[(DnType, &str)]) -> Result<ClientCertificate, CertificateError> {
        certificate_with(attributes, true)
    }

    fn certificate_with(
        attributes: &[(DnType, &str)],
        reads_uid: bool,
    ) -> Result<ClientCertificate, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in attributes {
            params.distinguished_name.push(kind.clone(), *value);
        }
        let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        ClientCertificate::parse(der.der(), reads_uid)
    }

    #[test]
    fn common_name_and_organization_become_name_and_group() {
        let uid = || DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        let user = certificate(&[
            (DnType::CommonName, "admin"),
            (DnType::OrganizationName, "system:masters"),
            (uid(), "u1"),
        ])
        .unwrap()
        .user
        .unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("admin", "u1"));
        assert_eq!(user.groups, ["system:masters"]);
        let id = &user.extra[EXTRA_CREDENTIAL_ID][0];
        assert!(id.starts_with("X509SHA256=") && id.len() == 11 + 64, "{id}");
    }

    #[test]
    fn certificate_without_common_name_has_no_user() {
        assert_eq!(certificate(&[(DnType::OrganizationName, "system:masters")]).unwrap().user, None);
        assert_eq!(certificate(&[(DnType::CommonName, "")]).unwrap().user, None);
    }

    #[test]
    fn an_empty_uid_attribute_is_refused() {
        let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        let got = certificate(&[(DnType::CommonName, "a"), (uid, "")]).map(|c| c.user);
        assert_eq!(got.map_err(|error| error.to_string()), Err("UID cannot be an empty string".to_owned()));
    }

    #[test]
    fn gate_ignores_uid_attribute() {
        let uid = || DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        for value in ["u1", ""] {
            let user = certificate_with(&[(DnType::CommonName, "a"), (uid(), value)], false).unwrap().user;
            assert_eq!(user.unwrap().uid, "");
        }
    }

    #[test]
    fn garbage_is_not_a_certificate() {
        assert!(matches!(
            ClientCertificate::parse(b"\x30\x03abc", true),
            Err(CertificateError::Malformed(_))
        ));
        assert!(matches!(ClientCertificate::parse(b"", true), Err(CertificateError::Malformed(_))));
    }
}
