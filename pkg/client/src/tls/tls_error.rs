//! Texts of handshake failures, in Go's words.

use std::io;

use apimachinery::time;
use rustls::{AlertDescription, CertificateError, Error, ExtendedKeyPurpose};
use rustls_pki_types::{ServerName, UnixTime};

const UNKNOWN_AUTHORITY: &str = "certificate signed by unknown authority";

/// Explains a handshake failure.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(reason)) => {
            format!("tls: failed to verify certificate: x509: {}", certificate(reason))
        }
        Some(Error::InvalidMessage(_)) => "tls: first record does not look like a TLS handshake".to_owned(),
        Some(Error::AlertReceived(description)) => format!("remote error: tls: {}", alert(*description)),
        Some(error) => format!("tls: {}", handshake(error)),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

/// Explains an error of the protocol. The texts of rustls contain Rust's names.
fn handshake(error: &Error) -> String {
    match error {
        Error::PeerIncompatible(_) => "handshake failure".to_owned(),
        Error::DecryptError => "bad record MAC".to_owned(),
        Error::PeerSentOversizedRecord => "oversized record received".to_owned(),
        Error::NoCertificatesPresented => "received empty certificates message".to_owned(),
        Error::General(text) => text.clone(),
        _ => "received an unexpected message".to_owned(),
    }
}

fn certificate(reason: &CertificateError) -> String {
    const TIMED_OUT: &str = "certificate has expired or is not yet valid";
    match reason {
        // A signature by another CA of the same name counts as an unknown authority.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => UNKNOWN_AUTHORITY.to_owned(),
        CertificateError::ExpiredContext { time, not_after } => {
            format!("{TIMED_OUT}: current time {} is after {}", format_time(*time), format_time(*not_after))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("{TIMED_OUT}: current time {} is before {}", format_time(*time), format_time(*not_before))
        }
        CertificateError::Expired | CertificateError::NotValidYet => TIMED_OUT.to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => names(expected, presented),
        CertificateError::InvalidPurpose => "certificate specifies an incompatible key usage".to_owned(),
        CertificateError::InvalidPurposeContext { required: ExtendedKeyPurpose::ServerAuth, .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::BadEncoding => "malformed certificate".to_owned(),
        CertificateError::UnhandledCriticalExtension => "unhandled critical extension".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { signature_algorithm_id, .. } => {
            match insecure_algorithm(signature_algorithm_id) {
                Some(algorithm) => format!(
                    "{UNKNOWN_AUTHORITY} (possibly because of \"x509: cannot verify signature: insecure algorithm \
                     {algorithm}\")"
                ),
                None => UNKNOWN_AUTHORITY.to_owned(),
            }
        }
        // Go's search for a chain skips candidates that break a constraint, and a server certificate that is also a
        // CA has no other issuer.
        _ => UNKNOWN_AUTHORITY.to_owned(),
    }
}

/// Returns Go's name of an algorithm that it rejects as insecure. `id` is the encoded algorithm.
fn insecure_algorithm(id: &[u8]) -> Option<&'static str> {
    const INSECURE: [(&[u8], &str); 3] = [
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], "SHA1-RSA"),
        (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01], "ECDSA-SHA1"),
        (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], "MD5-RSA"),
    ];
    let contains = |oid: &[u8]| id.windows(oid.len()).any(|part| part == oid);
    INSECURE.into_iter().find(|(oid, _)| contains(oid)).map(|(_, name)| name)
}

fn format_time(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    time::UnixTime::from_seconds(seconds).rfc3339().to_string()
}

/// Explains a name mismatch. Each of `presented` is like `DnsName("a.example")`.
fn names(expected: &ServerName<'_>, presented: &[String]) -> String {
    let of = |kind: &str| -> Vec<&str> {
        let inside = presented.iter().filter_map(|name| name.strip_prefix(kind)?.strip_suffix(')'));
        inside.map(|name| name.trim_matches('"')).collect()
    };
    let dns = of("DnsName(");
    let addresses = of("IpAddress(");
    match expected {
        ServerName::IpAddress(_) if addresses.is_empty() => format!(
            "cannot validate certificate for {} because it doesn't contain any IP SANs",
            expected.to_str()
        ),
        ServerName::IpAddress(_) => {
            format!("certificate is valid for {}, not {}", addresses.join(", "), expected.to_str())
        }
        _ if dns.is_empty() => {
            format!("certificate is not valid for any names, but wanted to match {}", expected.to_str())
        }
        _ => format!("certificate is valid for {}, not {}", dns.join(", "), expected.to_str()),
    }
}

/// Returns Go's name of a TLS alert.
fn alert(description: AlertDescription) -> String {
    match description {
        AlertDescription::CloseNotify => "close notify",
        AlertDescription::UnexpectedMessage => "unexpected message",
        AlertDescription::BadRecordMac => "bad record MAC",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::IllegalParameter => "illegal parameter",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::DecodeError => "error decoding message",
        AlertDescription::DecryptError => "error decrypting message",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::InsufficientSecurity => "insufficient security level",
        AlertDescription::InternalError => "internal error",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::NoApplicationProtocol => "no application protocol",
        other => return format!("alert({})", u8::from(other)),
    }
    .to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn name_mismatch_error_equals_gos() {
        let check = |expected: &'static str, presented: &[&str], words: &str| {
            let presented: Vec<String> = presented.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(names(&ServerName::try_from(expected).unwrap(), &presented), words);
        };
        let names = ["DnsName(\"a.example\")", "DnsName(\"b.example\")", "IpAddress(10.0.0.1)"];
        check("c.example", &names, "certificate is valid for a.example, b.example, not c.example");
        check("10.0.0.2", &names, "certificate is valid for 10.0.0.1, not 10.0.0.2");
        let none = "cannot validate certificate for ::1 because it doesn't contain any IP SANs";
        check("::1", &names[..2], none);
        check("a.example", &[], "certificate is not valid for any names, but wanted to match a.example");
    }

    #[test]
    fn texts_contain_no_names_of_rust() {
        let check = |error: Error, words: &str| assert_eq!(explain(&io::Error::other(error)), words);
        let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
        let other = rustls::OtherError(std::sync::Arc::new(io::Error::other("CaUsedAsEndEntity")));
        check(Error::InvalidCertificate(CertificateError::Other(other)), unknown);
        check(CertificateError::UnknownIssuer.into(), unknown);
        let unsupported = |id: &[u8]| CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: id.to_vec(),
            supported_algorithms: Vec::new(),
        };
        check(unsupported(&[]).into(), unknown);
        let sha1 = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
        let insecure =
            "(possibly because of \"x509: cannot verify signature: insecure algorithm ECDSA-SHA1\")";
        check(unsupported(&sha1).into(), &format!("{unknown} {insecure}"));
        check(
            Error::PeerIncompatible(rustls::PeerIncompatible::NoCipherSuitesInCommon),
            "tls: handshake failure",
        );
        check(Error::DecryptError, "tls: bad record MAC");
    }

    #[test]
    fn times_are_formatted_like_go() {
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let expired = CertificateError::ExpiredContext { time: at(86_400), not_after: at(0) };
        let words = "certificate has expired or is not yet valid: current time 1970-01-02T00:00:00Z is after \
                     1970-01-01T00:00:00Z";
        assert_eq!(certificate(&expired), words);
    }
}
