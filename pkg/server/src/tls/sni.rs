//! Selects a certificate by server name.

use std::collections::HashMap;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// Certificates by name: the exact name, else its `*.` wildcard, else the default.
#[derive(Debug)]
pub(super) struct SniResolver {
    names: HashMap<String, Arc<CertifiedKey>>,
    default: Arc<CertifiedKey>,
}

impl SniResolver {
    /// Uses `default` for all names.
    pub(super) fn new(default: Arc<CertifiedKey>) -> Self {
        SniResolver { names: HashMap::new(), default }
    }

    /// Adds a certificate for `names`, or for its own names if `names` is empty. The first certificate of a
    /// name wins.
    pub(super) fn add(&mut self, names: &[String], key: Arc<CertifiedKey>) {
        let names = if names.is_empty() { own_names(&key) } else { names.to_vec() };
        for name in names {
            self.names.entry(name.to_ascii_lowercase()).or_insert_with(|| Arc::clone(&key));
        }
    }

    fn find(&self, name: &str) -> &Arc<CertifiedKey> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let wildcard = || self.names.get(&format!("*.{}", name.split_once('.')?.1));
        self.names.get(&name).or_else(wildcard).unwrap_or(&self.default)
    }
}

impl ResolvesServerCert for SniResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(hello.server_name().map_or(&self.default, |name| self.find(name))))
    }
}

/// DNS names of a certificate; the common name if it has none.
fn own_names(key: &CertifiedKey) -> Vec<String> {
    let Some((_, certificate)) = key.cert.first().and_then(|leaf| X509Certificate::from_der(leaf).ok())
    else {
        return Vec::new();
    };
    let mut names = Vec::new();
    if let Ok(Some(alternatives)) = certificate.subject_alternative_name() {
        for name in &alternatives.value.general_names {
            if let GeneralName::DNSName(name) = name {
                names.push((*name).to_owned());
            }
        }
    }
    if names.is_empty() {
        names.extend(
            certificate.subject().iter_common_name().filter_map(|cn| cn.as_str().ok()).map(str::to_owned),
        );
    }
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tls::self_signed::{Usage, authority, issue};
    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};

    fn key(names: &[&str]) -> Arc<CertifiedKey> {
        let ca = authority("ca", 1_700_000_000).unwrap();
        let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
        let pair = issue(&ca, "common", &[], &Usage::Server(names), 1_700_000_000).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        Arc::new(CertifiedKey::from_der(chain, key, &rustls::crypto::aws_lc_rs::default_provider()).unwrap())
    }

    #[test]
    fn the_closest_name_wins() {
        let default = key(&[]);
        let exact = key(&[]);
        let wild = key(&[]);
        let from_certificate = key(&["Own.example"]);
        let mut by_name = SniResolver::new(Arc::clone(&default));
        by_name.add(&["a.example".to_owned()], Arc::clone(&exact));
        by_name.add(&["*.example".to_owned(), "a.example".to_owned()], Arc::clone(&wild));
        by_name.add(&[], Arc::clone(&from_certificate));
        let check = |name: &str, expected: &Arc<CertifiedKey>| {
            assert!(Arc::ptr_eq(by_name.find(name), expected), "{name}")
        };
        check("a.example", &exact);
        check("A.EXAMPLE.", &exact);
        check("b.example", &wild);
        check("own.example", &from_certificate);
        check("x.b.example", &default);
        check("example", &default);
    }
}
