//! Self-signed certificates, for a server without configured ones.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::TlsError;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// Validity of a CA and of the certificates that it issues (kubeadm's values).
const AUTHORITY_SECONDS: i64 = 3650 * DAY;
const LEAF_SECONDS: i64 = 365 * DAY;
/// Start of validity before the current time, because clocks of other machines may be slow.
const BACKDATE_SECONDS: i64 = HOUR;

/// PEM certificate and key.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificatePair {
    pub certificate: String,
    pub key: String,
}

impl CertificatePair {
    pub(super) fn pems(&self) -> (Vec<u8>, Vec<u8>) {
        (self.certificate.clone().into_bytes(), self.key.clone().into_bytes())
    }
}

/// Omits the key.
impl fmt::Debug for CertificatePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.certificate)
    }
}

/// Purpose of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// Server certificate for these DNS names and addresses.
    Server(Vec<String>),
    /// Client certificate.
    Client,
}

/// Creates a CA. `now` is in seconds since 1970.
///
/// # Errors
/// [`TlsError::Issue`], in practice never.
pub fn authority(name: &str, now: i64) -> Result<CertificatePair, TlsError> {
    let mut params = params(name, &[], now, AUTHORITY_SECONDS)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(pair(&certificate, &key))
}

/// Issues a certificate with the common name `name` in `organizations`, signed by `authority`.
///
/// # Errors
/// [`TlsError::Issue`] when `authority` contains no valid CA.
pub fn issue(
    authority: &CertificatePair,
    name: &str,
    organizations: &[&str],
    usage: &Usage,
    now: i64,
) -> Result<CertificatePair, TlsError> {
    let mut params = params(name, organizations, now, LEAF_SECONDS)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.use_authority_key_identifier_extension = true;
    match usage {
        Usage::Client => params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
        Usage::Server(names) => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.subject_alt_names =
                names.iter().map(|name| alternative(name)).collect::<Result<_, _>>()?;
        }
    }
    let issuer = issuer(authority)?;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(pair(&certificate, &key))
}

/// Expiry time of the first certificate of a PEM text, in seconds since 1970; `None` if it has none.
pub fn not_after(pem: &str) -> Option<i64> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// True if the first certificate of a PEM text names the first one of another as its issuer.
pub fn is_issued_by(pem: &str, authority: &str) -> bool {
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).ok();
    let (Some(leaf), Some(authority)) = (der(pem), der(authority)) else { return false };
    match (X509Certificate::from_der(&leaf), X509Certificate::from_der(&authority)) {
        (Ok((_, leaf)), Ok((_, authority))) => leaf.issuer().as_raw() == authority.subject().as_raw(),
        _ => false,
    }
}

/// Converts a generated PKCS#8 key to SEC1 (RFC 5915), which more clients can read. Both are PEM. Returns
/// `None` if the key is not on P-256.
pub fn sec1_key(pkcs8: &str) -> Option<String> {
    let block = pem::parse(pkcs8).ok()?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, block.contents()).ok()?;
    let der: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().ok()?;
    let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
    Some(pem::encode_config(&Pem::new("EC PRIVATE KEY", der.as_ref()), lines))
}

fn alternative(name: &str) -> Result<SanType, TlsError> {
    Ok(match name.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName(name.try_into()?),
    })
}

fn params(name: &str, organizations: &[&str], now: i64, seconds: i64) -> Result<CertificateParams, TlsError> {
    let time = |at: i64| ASN1Time::from_timestamp(at).map_err(|_| rcgen::Error::Time);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    params.not_before = time(now - BACKDATE_SECONDS)?.to_datetime();
    params.not_after = time(now + seconds)?.to_datetime();
    Ok(params)
}

/// Returns the signer of a CA: its key and the subject of its certificate.
fn issuer(authority: &CertificatePair) -> Result<Issuer<'static, KeyPair>, TlsError> {
    let malformed = || rcgen::Error::CouldNotParseCertificate;
    let der = CertificateDer::from_pem_slice(authority.certificate.as_bytes()).map_err(|_| malformed())?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| malformed())?;
    let name = certificate
        .subject()
        .iter_common_name()
        .next()
        .and_then(|cn| cn.as_str().ok())
        .ok_or_else(malformed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(Issuer::new(params, KeyPair::from_pem(&authority.key)?))
}

fn pair(certificate: &Certificate, key: &KeyPair) -> CertificatePair {
    CertificatePair { certificate: certificate.pem(), key: key.serialize_pem() }
}

#[cfg(test)]
mod tests {
    use rustls_pki_types::PrivateKeyDer;

    use super::*;

    #[test]
    fn sec1_key_belongs_to_its_certificate() {
        let authority = authority("ca", 1_700_000_000).unwrap();
        let pair = issue(&authority, "admin", &[], &Usage::Client, 1_700_000_000).unwrap();
        let key = sec1_key(&pair.key).unwrap();
        assert!(key.starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{key}");
        let der = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        assert!(matches!(der, PrivateKeyDer::Sec1(_)));
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&der).unwrap();
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
        let certified = rustls::sign::CertifiedKey::new(vec![certificate], key);
        assert!(certified.keys_match().is_ok());
    }

    #[test]
    fn other_keys_have_no_sec1_form() {
        assert_eq!(sec1_key("nonsense"), None);
        let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap().serialize_pem();
        assert_eq!(sec1_key(&key), None);
    }
}
