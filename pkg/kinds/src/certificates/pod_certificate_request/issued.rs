//! The certificate issued for a request.

use super::{bytes, text};
use crate::pem::{Block, blocks};
use crate::validation::x509::{Certificate, PublicKeyInfo, Request};
use api::tree::maybe_integer;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::time::{UnixTime, parse_time};
use schema::object::Object;

/// Size limit of a certificate chain in bytes.
const CHAIN_BYTES_MAX: usize = 100 * 1024;
/// Lower limit of a certificate's lifetime in seconds.
const LIFETIME_MIN: i64 = 60 * 60;
/// Maximum distance of the start of validity from now, in seconds.
const SKEW_MAX: i64 = 5 * 60;
/// Minimum distance of the refresh time from the start and end of validity, in seconds.
const REFRESH_MARGIN: i64 = 10 * 60;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Validates the certificate chain of a status, and its other fields about the certificate. `spec` is that of
/// the request. Only the first error is reported, except for missing times and bad names, which are all
/// reported.
pub(super) fn certificate(spec: &Object, status: &Object, now: UnixTime, errors: &mut ErrorList) {
    let root = Path::root("status");
    let path = root.child("certificateChain");
    let chain = text(status, "certificateChain");
    if chain.len() > CHAIN_BYTES_MAX {
        errors.push(Error::too_long(&path, Some(CHAIN_BYTES_MAX)));
        return;
    }
    let bad = |detail: &str| Error::invalid(&path, chain, detail);
    let blocks: Vec<Block> = blocks(chain.as_bytes()).collect();
    let leaf = match blocks.first() {
        None => Err("issued certificate chain must contain at least one certificate"),
        Some(block) if block.label != "CERTIFICATE" => {
            Err("issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
        }
        Some(block) => {
            Certificate::parse(&block.bytes).map_err(|_| "leaf certificate does not parse as valid X.509")
        }
    };
    let leaf = match leaf {
        Ok(leaf) => leaf,
        Err(detail) => {
            errors.push(bad(detail));
            return;
        }
    };
    names(&path, &leaf, errors);
    match requested_key(spec) {
        Err(error) => {
            errors.push(error);
            return;
        }
        Ok(key) if key != leaf.raw_key() => {
            errors.push(bad("leaf certificate was not issued to the requested public key"));
            return;
        }
        Ok(_) => {}
    }
    let missing = [
        ("notBefore", "must be present and consistent with the issued certificate"),
        ("notAfter", "must be present and consistent with the issued certificate"),
        ("beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]"),
    ];
    let missing = missing.into_iter().filter(|(member, _)| text(status, member).is_empty());
    errors.extend(missing.map(|(member, detail)| Error::required(&root.child(member), detail)));
    if errors.is_empty() {
        let seconds = maybe_integer(spec, "maxExpirationSeconds").unwrap_or_default();
        let wrong = bad_times(&root, &leaf, status, seconds, now);
        errors.extend(wrong.or_else(|| intermediates_error(&blocks).map(bad)));
    }
}

/// Returns the error of the certificates after the first.
fn intermediates_error(blocks: &[Block]) -> Option<&'static str> {
    blocks.iter().skip(1).find_map(|block| match block.label.as_str() {
        "CERTIFICATE" if Certificate::parse(&block.bytes).is_ok() => None,
        "CERTIFICATE" => Some("intermediate certificate does not parse as valid X.509"),
        // The text is upstream's.
        _ => Some("issued certificate chain must consist entirely of CERTFICATE PEM blocks"),
    })
}

fn names(path: &Path<'_>, leaf: &Certificate<'_>, errors: &mut ErrorList) {
    for name in leaf.dns_names() {
        let mut invalid = |detail: &str| errors.push(Error::invalid(path, name, detail));
        if name.is_empty() {
            invalid("leaf certificate should not contain empty DNSName");
        }
        if name.contains("..") {
            invalid("leaf certificate's DNSName should not contain '..'");
        }
        if name.starts_with('.') || name.ends_with('.') {
            invalid("leaf certificate's DNSName should not start or end with '.'");
        }
    }
    let is_mailbox = |name: &str| {
        name.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
    };
    for name in leaf.mailboxes().filter(|name| !is_mailbox(name)) {
        let detail = "leaf certificate should not contain invalid EmailAddress";
        errors.push(Error::invalid(path, name, detail));
    }
}

/// Returns the key of the request in the encoding of certificates.
fn requested_key(spec: &Object) -> Result<Vec<u8>, Error> {
    let root = Path::root("spec");
    let request = bytes(spec, "stubPKCS10Request");
    let invalid = |member: &str, detail: &str| Error::invalid(&root.child(member), BadValue::Omitted, detail);
    if request.is_empty() {
        let key = bytes(spec, "pkixPublicKey");
        let parsed = PublicKeyInfo::parse(&key).map(|key| key.raw().to_owned());
        parsed.map_err(|_| invalid("pkixPublicKey", "must be a valid PKIX-serialized public key"))
    } else {
        let parsed = Request::parse(&request).map(|request| request.raw_key().to_owned());
        parsed.map_err(|_| invalid("stubPKCS10Request", "must be a valid PKCS#10 CSR"))
    }
}

/// Returns the error of the times in a status, all of which are set.
fn bad_times(
    root: &Path<'_>,
    leaf: &Certificate<'_>,
    status: &Object,
    seconds_max: i64,
    now: UnixTime,
) -> Option<Error> {
    let seconds = |member: &str| parse_time(text(status, member)).ok().map(|time| time.seconds);
    let invalid = |member: &str, detail: &str| {
        Some(Error::invalid(&root.child(member), BadValue::json_text(text(status, member)), detail))
    };
    let (not_before, not_after) = leaf.validity();
    if seconds("notBefore") != Some(not_before) {
        return invalid("notBefore", "must be set to the NotBefore time encoded in the leaf certificate");
    }
    if (not_before - now.seconds).abs() >= SKEW_MAX {
        return invalid("notBefore", "must be set to within 5 minutes of kube-apiserver's current time");
    }
    if seconds("notAfter") != Some(not_after) {
        return invalid("notAfter", "must be set to the NotAfter time encoded in the leaf certificate");
    }
    let lifetime = not_after - not_before;
    let chain = root.child("certificateChain");
    let nanos = lifetime.saturating_mul(NANOS_PER_SECOND);
    if lifetime < LIFETIME_MIN {
        return Some(Error::invalid(&chain, nanos, "leaf certificate lifetime must be >= 1 hour"));
    }
    if lifetime > seconds_max {
        let detail =
            format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({seconds_max})");
        return Some(Error::invalid(&chain, nanos, detail));
    }
    let refresh = seconds("beginRefreshAt").unwrap_or(i64::MIN);
    if refresh < not_before + REFRESH_MARGIN {
        return invalid("beginRefreshAt", "must be at least 10 minutes after status.notBefore");
    }
    if refresh > not_after - REFRESH_MARGIN {
        return invalid("beginRefreshAt", "must be at least 10 minutes before status.notAfter");
    }
    None
}
