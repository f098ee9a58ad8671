//! Client certificates of a connection and their current validity.
//!
//! Upstream verifies them for every request, so that removed CAs and expired certificates are rejected on
//! open connections. Here they are verified only if the result may have changed: once per connection and CA
//! generation, and when one of the certificates becomes valid or expires. Any other request costs two loads
//! and a comparison of two times.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls_pki_types::CertificateDer;

use authentication::{PresentedCertificate, PresentedCertificates};

use super::Tls;
use super::client_authorities::{ClientAuthorities, Period, Validity};

/// Certificate chain of a connection. A handshake limits it to 64 KiB.
pub(crate) struct ClientCertificates {
    chain: Box<[CertificateDer<'static>]>,
    /// Holder of the current CAs.
    tls: Arc<ArcSwap<Tls>>,
    verdict: ArcSwapOption<Verdict>,
    /// Concurrent requests share one verification.
    verification_lock: Mutex<()>,
}

/// Verification result with a period of validity.
pub(crate) struct Verdict {
    /// Result by kind of CA.
    pub(crate) certificates: PresentedCertificates,
    /// Last second since 1970 in which the client's certificate is valid, if the client CAs apply to it.
    pub(crate) last: Option<i64>,
    /// The CA bundle behind this verdict. Weak, so that a cached verdict does not keep the bundle alive.
    authorities: Weak<ClientAuthorities>,
    period: Period,
}

impl Verdict {
    fn is_valid(&self, present: &Arc<ClientAuthorities>, now: i64) -> bool {
        // The memory of an old generation is not reused while it has a weak reference.
        std::ptr::eq(self.authorities.as_ptr(), Arc::as_ptr(present)) && self.period.includes(now)
    }
}

impl ClientCertificates {
    /// Creates the chain from the client's certificates, leaf first; `None` without any.
    pub(crate) fn new(chain: &[CertificateDer<'_>], tls: Arc<ArcSwap<Tls>>) -> Option<Self> {
        let chain: Box<[_]> = chain.iter().map(|der| der.clone().into_owned()).collect();
        let verdict = ArcSwapOption::empty();
        (!chain.is_empty()).then(|| ClientCertificates {
            chain,
            tls,
            verdict,
            verification_lock: Mutex::new(()),
        })
    }

    /// Returns the verdict at `now`, in seconds since 1970.
    pub(crate) fn verdict(&self, now: i64) -> Arc<Verdict> {
        let tls = self.tls.load();
        let authorities = &tls.authorities;
        let cached = || self.verdict.load_full().filter(|verdict| verdict.is_valid(authorities, now));
        if let Some(verdict) = cached() {
            return verdict;
        }
        let _turn = self.verification_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verdict) = cached() {
            return verdict;
        }
        let (certificates, period) = authorities.verify_chain(&self.chain, now);
        let last = self.last(&certificates);
        let verdict =
            Arc::new(Verdict { certificates, last, authorities: Arc::downgrade(authorities), period });
        self.verdict.store(Some(Arc::clone(&verdict)));
        verdict
    }

    /// The certificate of a trusted proxy is not verified further.
    fn last(&self, certificates: &PresentedCertificates) -> Option<i64> {
        let from_trusted_proxy = matches!(certificates.proxy, Some(PresentedCertificate::Verified(_)));
        let is_relevant = certificates.client.is_some() && !from_trusted_proxy;
        is_relevant.then(|| Some(Validity::of(self.chain.first()?).ok()?.last)).flatten()
    }
}

#[cfg(test)]
mod tests;
