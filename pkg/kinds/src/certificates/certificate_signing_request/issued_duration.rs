//! Validity of an issued certificate, compared with the requested one.

use api::tree::{maybe_integer, text};
use schema::object::Object;

use super::{certificate, decoded, spec_of};
use crate::pem::blocks;
use crate::validation::x509::Certificate;

/// Tolerance besides 5 % of the request, in seconds: signers date certificates back.
const BACKDATING_SECONDS: i64 = 300;

/// A certificate that was issued for a request with a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedDuration {
    /// The signer.
    pub signer: String,
    /// True if the validity is approximately the requested one; `None` if the certificate cannot be parsed.
    pub honored: Option<bool>,
}

impl IssuedDuration {
    /// Compares the states before and after an update of a request's status. `None` if the update issued no
    /// certificate or the client requested no duration.
    pub fn of_update(new: &Object, old: &Object) -> Option<Self> {
        if certificate(new).is_empty() || !certificate(old).is_empty() {
            return None;
        }
        let spec = spec_of(old)?;
        let requested = maybe_integer(spec, "expirationSeconds")?;
        let honored = validity_seconds(certificate(new)).map(|seconds| is_honored(requested, seconds));
        Some(IssuedDuration { signer: text(spec, "signerName").to_owned(), honored })
    }
}

/// The validity of the first certificate of a chain.
fn validity_seconds(base64: &str) -> Option<i64> {
    let chain = decoded(base64);
    let first = blocks(&chain).find(|block| block.label == "CERTIFICATE" && !block.has_headers)?;
    let certificate = Certificate::parse(&first.bytes).ok()?;
    let (not_before, not_after) = certificate.validity();
    Some(not_after.saturating_sub(not_before))
}

/// Upstream's `isDurationHonored`.
fn is_honored(requested: i64, issued: i64) -> bool {
    let difference = i128::from(requested).abs_diff(i128::from(issued));
    let tolerance = i128::from(BACKDATING_SECONDS) * 20 + i128::from(requested);
    difference.saturating_mul(20) < tolerance.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backdating_and_five_percent_are_tolerated() {
        let check = |requested, issued, expected| {
            assert_eq!(is_honored(requested, issued), expected, "{requested} {issued}");
        };
        check(3600, 3600, true);
        check(3600, 3600 + 479, true);
        check(3600, 3600 + 480, false);
        check(3600, 3600 - 479, true);
        check(3600, 3600 - 480, false);
        check(600, 31_536_000, false);
    }
}
