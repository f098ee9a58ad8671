//! Tests of client certificate verdicts over time and with changing CAs.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use rustls_pki_types::pem::PemObject;

use super::*;
use crate::testing::NOW;
use crate::tls::self_signed::{CertificatePair, Usage, authority, issue};
use crate::tls::{CertificateFiles, TlsContents, TlsFiles, TlsOptions};

const DAY: i64 = 24 * 3600;

/// TLS files of a server that trusts these CAs.
fn contents(
    server: &CertificatePair,
    clients: &[&CertificatePair],
    proxies: &[&CertificatePair],
) -> TlsContents {
    let files = TlsFiles {
        default: CertificateFiles { certificate: PathBuf::new(), key: PathBuf::new() },
        sni: Vec::new(),
        client_authorities: vec![PathBuf::new(); clients.len()],
        proxy_authorities: vec![PathBuf::new(); proxies.len()],
        loopback: None,
    };
    let pems =
        |pairs: &[&CertificatePair]| pairs.iter().map(|pair| pair.certificate.clone().into_bytes()).collect();
    TlsContents {
        files,
        default: (server.certificate.clone().into_bytes(), server.key.clone().into_bytes()),
        sni: Vec::new(),
        client_authorities: pems(clients),
        proxy_authorities: pems(proxies),
    }
}

struct World {
    server: CertificatePair,
    tls: Arc<ArcSwap<Tls>>,
}

impl World {
    fn believing(clients: &[&CertificatePair], proxies: &[&CertificatePair]) -> Self {
        let server = authority("server", NOW).unwrap();
        let tls = Tls::new(&contents(&server, clients, proxies), &TlsOptions::default()).unwrap();
        World { server, tls: Arc::new(ArcSwap::from_pointee(tls)) }
    }

    fn believe(&self, clients: &[&CertificatePair], proxies: &[&CertificatePair]) {
        let tls = Tls::new(&contents(&self.server, clients, proxies), &TlsOptions::default()).unwrap();
        self.tls.store(Arc::new(tls));
    }

    fn shows(&self, leaf: &CertificatePair) -> ClientCertificates {
        let der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
        ClientCertificates::new(&[der], Arc::clone(&self.tls)).unwrap()
    }
}

/// Results of the client CAs and the proxy CAs; `None` without any.
fn worth(certificates: &ClientCertificates, now: i64) -> (Option<bool>, Option<bool>) {
    let verified =
        |certificate: &PresentedCertificate| matches!(certificate, PresentedCertificate::Verified(_));
    let verdict = certificates.verdict(now);
    let PresentedCertificates { client, proxy } = &verdict.certificates;
    (client.as_ref().map(verified), proxy.as_ref().map(verified))
}

fn of(authority: &CertificatePair, now: i64) -> CertificatePair {
    issue(authority, "carol", &[], &Usage::Client, now).unwrap()
}

#[test]
fn removed_ca_is_rejected_on_open_connection() {
    let first = authority("one", NOW).unwrap();
    let second = authority("other", NOW).unwrap();
    let world = World::believing(&[&first, &second], &[&second]);
    let certificates = world.shows(&of(&first, NOW));
    assert_eq!(worth(&certificates, NOW), (Some(true), Some(false)));
    world.believe(&[&second], &[&first]);
    assert_eq!(worth(&certificates, NOW), (Some(false), Some(true)));
    world.believe(&[&first], &[]);
    assert_eq!(worth(&certificates, NOW), (Some(true), None));
    world.believe(&[], &[]);
    assert_eq!(worth(&certificates, NOW), (None, None));
}

#[test]
fn certificate_and_ca_must_be_valid() {
    let ca = authority("ca", NOW).unwrap();
    let world = World::believing(&[&ca], &[]);
    let check = |issued: i64, times: &[(i64, bool)]| {
        let certificates = world.shows(&of(&ca, issued));
        for (now, expected) in times {
            assert_eq!(worth(&certificates, *now).0, Some(*expected), "{}", now - NOW);
        }
    };
    let begin = NOW - 3600;
    let end = NOW + 365 * DAY;
    check(NOW, &[(begin - 1, false), (begin, true), (end, true), (end + 1, false), (NOW, true)]);
    let end_of_authority = NOW + 3650 * DAY;
    check(NOW + 3600 * DAY, &[(NOW, false), (end_of_authority, true), (end_of_authority + 1, false)]);
}

#[test]
fn expired_ca_does_not_affect_others() {
    let old = authority("old", NOW).unwrap();
    let young = authority("young", NOW + 3000 * DAY).unwrap();
    let world = World::believing(&[&old, &young], &[]);
    let later = NOW + 3651 * DAY;
    assert_eq!(worth(&world.shows(&of(&young, later)), later).0, Some(true));
    assert_eq!(worth(&world.shows(&of(&old, later)), later).0, Some(false));
}

#[test]
fn unchanged_state_reuses_verdict() {
    let ca = authority("ca", NOW).unwrap();
    let world = World::believing(&[&ca], &[]);
    for leaf in [of(&ca, NOW), of(&world.server, NOW)] {
        let certificates = world.shows(&leaf);
        let first = certificates.verdict(NOW);
        assert!(Arc::ptr_eq(&first, &certificates.verdict(NOW)));
        assert!(Arc::ptr_eq(&first, &certificates.verdict(NOW + 364 * DAY)));
        assert!(Arc::ptr_eq(&first, &certificates.verdict(NOW - 1)), "a clock may go back");
        assert!(!Arc::ptr_eq(&first, &certificates.verdict(NOW + 366 * DAY)));
    }
    let certificates = world.shows(&of(&ca, NOW));
    let before = certificates.verdict(NOW);
    world.believe(&[&ca], &[]);
    assert!(!Arc::ptr_eq(&before, &certificates.verdict(NOW)), "another generation may think otherwise");
}
