//! A bundle of PEM certificates.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use server::tls::self_signed::not_after;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Characters in a line of base64.
const LINE: usize = 64;
/// Seconds after expiry for which a certificate is still included.
const SLACK_SECONDS: i64 = 5 * 60;

/// Error of a PEM text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BundleError {
    #[error("incomplete certificate")]
    NoEnd,
    #[error("a certificate is not valid base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("not a certificate")]
    NotCertificate,
    #[error("no certificates")]
    Empty,
}

/// Certificates without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bundle(Vec<Certificate>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificate {
    der: Vec<u8>,
    not_after: i64,
}

impl Certificate {
    fn pem(&self) -> String {
        pem(&self.der)
    }
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("{BEGIN}\n");
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            pem.push('\n');
        }
        pem.push(digit);
    }
    pem + "\n" + END + "\n"
}

impl Bundle {
    /// Parses a PEM text. Text outside of certificate blocks is ignored.
    ///
    /// # Errors
    /// A block is not a certificate, or there is none.
    pub(super) fn parse(text: &str) -> Result<Self, BundleError> {
        let mut bundle = Bundle::default();
        for block in text.split(BEGIN).skip(1) {
            let (block, _) = block.split_once(END).ok_or(BundleError::NoEnd)?;
            let digits: String = block.chars().filter(|c| !c.is_ascii_whitespace()).collect();
            let der = STANDARD.decode(digits)?;
            let not_after = not_after(&pem(&der)).ok_or(BundleError::NotCertificate)?;
            bundle.push(Certificate { der, not_after });
        }
        if bundle.0.is_empty() { Err(BundleError::Empty) } else { Ok(bundle) }
    }

    fn push(&mut self, certificate: Certificate) {
        if !self.0.contains(&certificate) {
            self.0.push(certificate);
        }
    }

    /// Appends the certificates of another bundle.
    pub(super) fn append(mut self, other: Bundle) -> Self {
        other.0.into_iter().for_each(|certificate| self.push(certificate));
        self
    }

    /// Returns the unexpired certificates in PEM; empty if there are none.
    pub(super) fn valid_pem(&self, now: i64) -> String {
        let valid = self.0.iter().filter(|certificate| certificate.not_after > now - SLACK_SECONDS);
        valid.map(Certificate::pem).collect()
    }
}
