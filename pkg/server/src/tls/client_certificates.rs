//! The certificates that a client showed when it connected, and what they are worth now. Upstream verifies
//! them for every request, so that an authority that is taken away and a certificate that expires stop
//! counting on connections that are open. Here they are verified when something may have changed: once for
//! each connection and generation of the authorities, and when one of the certificates begins or ceases to
//! be valid. Any other request pays for two loads and the comparison of two times.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls_pki_types::CertificateDer;

use authentication::{PresentedCertificate, PresentedCertificates};

use super::Tls;
use super::clients::{ClientAuthorities, Period, Validity};

/// The chain of a connection. A handshake bounds it to 64 KiB.
pub(crate) struct ClientCertificates {
    chain: Box<[CertificateDer<'static>]>,
    /// Where the authorities are that count at present.
    tls: Arc<ArcSwap<Tls>>,
    verdict: ArcSwapOption<Verdict>,
    /// Requests that come at once have it verified by one of them.
    verifying: Mutex<()>,
}

/// What a chain is worth, for a while.
pub(crate) struct Verdict {
    /// As each kind of authority judges it.
    pub(crate) certificates: PresentedCertificates,
    /// The last second since 1970 in which the client's own counts, if it is for clients' authorities to
    /// say whose it is.
    pub(crate) last: Option<i64>,
    /// The authorities that judged, which nobody needs to keep for that.
    by: Weak<ClientAuthorities>,
    period: Period,
}

impl Verdict {
    fn holds(&self, present: &Arc<ClientAuthorities>, now: i64) -> bool {
        // The place of an old generation is not used again while it is pointed at.
        std::ptr::eq(self.by.as_ptr(), Arc::as_ptr(present)) && self.period.includes(now)
    }
}

impl ClientCertificates {
    /// What a client showed, leaf first; `None` if that is nothing.
    pub(crate) fn new(chain: &[CertificateDer<'_>], tls: Arc<ArcSwap<Tls>>) -> Option<Self> {
        let chain: Box<[_]> = chain.iter().map(|der| der.clone().into_owned()).collect();
        let verdict = ArcSwapOption::empty();
        (!chain.is_empty()).then(|| ClientCertificates { chain, tls, verdict, verifying: Mutex::new(()) })
    }

    /// What it is worth `now`, in seconds since 1970.
    pub(crate) fn verdict(&self, now: i64) -> Arc<Verdict> {
        let tls = self.tls.load();
        let present = &tls.vouching;
        let known = || self.verdict.load_full().filter(|verdict| verdict.holds(present, now));
        if let Some(verdict) = known() {
            return verdict;
        }
        let _turn = self.verifying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verdict) = known() {
            return verdict;
        }
        let (certificates, period) = present.judge(&self.chain, now);
        let last = self.last(&certificates);
        let verdict = Arc::new(Verdict { certificates, last, by: Arc::downgrade(present), period });
        self.verdict.store(Some(Arc::clone(&verdict)));
        verdict
    }

    /// Nobody asks further about a proxy that is believed.
    fn last(&self, certificates: &PresentedCertificates) -> Option<i64> {
        let believed = matches!(certificates.proxy, Some(PresentedCertificate::Verified(_)));
        let asked = certificates.client.is_some() && !believed;
        asked.then(|| Some(Validity::of(self.chain.first()?).ok()?.last)).flatten()
    }
}

#[cfg(test)]
mod tests;
