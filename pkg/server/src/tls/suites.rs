//! `--tls-min-version`, `--tls-cipher-suites` and `--tls-curve-preferences`, in Go's names.

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};

use super::TlsError;
use super::p521::SECP521R1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersion {
    /// 1.2, upstream's default. Older versions also mean 1.2 here, because they are insecure.
    #[default]
    Tls12,
    Tls13,
}

impl TlsVersion {
    /// Parses Go's name of a version; empty for the default. Versions below 1.2 are treated as 1.2.
    ///
    /// # Errors
    /// [`TlsError::UnknownVersion`].
    pub fn parse(name: &str) -> Result<Self, TlsError> {
        match name {
            "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(TlsVersion::Tls12),
            "VersionTLS13" => Ok(TlsVersion::Tls13),
            other => Err(TlsError::UnknownVersion(other.to_owned())),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    pub min_version: TlsVersion,
    /// TLS 1.2 suites to offer; empty for all. Those of 1.3 are not configurable, as in Go.
    pub suites: Vec<CipherSuite>,
    /// Key exchange groups by their registered numbers; empty for all.
    pub curves: Vec<u16>,
    /// `--disable-http2-serving`.
    pub http1_only: bool,
    /// Ignores uids of users in client certificates (`AllowParsingUserUIDFromCertAuth`).
    pub ignores_uids: bool,
}

/// Suites of Go that are not offered here: without forward secrecy, in CBC mode, or weaker.
const NOT_OFFERED: [&str; 17] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_FALLBACK_SCSV",
];

impl TlsOptions {
    /// Parses Go's names of suites. Known suites that are not offered here, or not in FIPS mode, are skipped with a
    /// warning in the log.
    ///
    /// # Errors
    /// [`TlsError::UnknownSuite`].
    pub fn parse_suites(names: &[String]) -> Result<Vec<CipherSuite>, TlsError> {
        let mut suites = Vec::new();
        for name in names {
            let known = aws_lc_rs::ALL_CIPHER_SUITES.iter().map(SupportedCipherSuite::suite).find(|&suite| {
                let go_suite = go_name(suite);
                go_suite == *name
                    || go_suite
                        .strip_suffix("_SHA256")
                        .is_some_and(|short| short.ends_with("POLY1305") && short == name)
            });
            match known {
                Some(suite) if is_offered(suite) => suites.push(suite),
                Some(_) => {
                    tracing::warn!(name, "cipher suite in --tls-cipher-suites is not offered in FIPS mode")
                }
                None if NOT_OFFERED.contains(&name.as_str()) => {
                    tracing::warn!(name, "weak cipher suite in --tls-cipher-suites is not offered");
                }
                None => return Err(TlsError::UnknownSuite(name.clone())),
            }
        }
        // An emptied list must not mean "all": only TLS 1.3 remains.
        if suites.is_empty() && !names.is_empty() {
            suites.push(CipherSuite::TLS13_AES_128_GCM_SHA256);
        }
        Ok(suites)
    }

    pub(super) fn provider(&self) -> CryptoProvider {
        let mut provider = aws_lc_rs::default_provider();
        // This group is not part of the validated module.
        if !provider.fips() {
            provider.kx_groups.push(SECP521R1);
        }
        if !self.suites.is_empty() {
            provider
                .cipher_suites
                .retain(|suite| suite.tls13().is_some() || self.suites.contains(&suite.suite()));
        }
        if !self.curves.is_empty() {
            provider.kx_groups.retain(|group| self.curves.contains(&u16::from(group.name())));
        }
        provider
    }

    pub(super) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        static FROM_12: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        static FROM_13: [&SupportedProtocolVersion; 1] = [&TLS13];
        match self.min_version {
            TlsVersion::Tls12 => &FROM_12,
            TlsVersion::Tls13 => &FROM_13,
        }
    }

    /// Returns the ALPN protocols, best first.
    pub(super) fn alpn(&self) -> Vec<Vec<u8>> {
        if self.http1_only { vec![b"http/1.1".to_vec()] } else { vec![b"h2".to_vec(), b"http/1.1".to_vec()] }
    }
}

/// True in builds with the feature `fips`: cryptography is that of the validated module.
pub fn is_fips() -> bool {
    aws_lc_rs::default_provider().fips()
}

/// True if the server offers a suite by default. FIPS mode has fewer of them.
fn is_offered(suite: CipherSuite) -> bool {
    aws_lc_rs::DEFAULT_CIPHER_SUITES.iter().any(|offered| offered.suite() == suite)
}

/// Returns Go's name of a suite, which has no version in the prefix.
fn go_name(suite: CipherSuite) -> String {
    suite.as_str().unwrap_or_default().replacen("TLS13_", "TLS_", 1)
}

#[cfg(test)]
mod tests {
    use rustls::NamedGroup;

    use super::*;

    #[test]
    fn suites_have_go_names() {
        let check = |names: &[&str], expected: Result<&[CipherSuite], &str>| {
            let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
            let got = TlsOptions::parse_suites(&names).map_err(|error| error.to_string());
            assert_eq!(got, expected.map(<[_]>::to_vec).map_err(str::to_owned), "{names:?}");
        };
        check(&[], Ok(&[]));
        check(
            &[
                "TLS_AES_128_GCM_SHA256",
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
            ],
            Ok(&[
                CipherSuite::TLS13_AES_128_GCM_SHA256,
                CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            ]),
        );
        check(&["TLS_RSA_WITH_AES_128_CBC_SHA"], Ok(&[CipherSuite::TLS13_AES_128_GCM_SHA256]));
        check(&["TLS_NULL"], Err("Cipher suite TLS_NULL not supported or doesn't exist"));
    }

    #[test]
    fn a_choice_of_suites_narrows_tls12_only() {
        let suites = vec![CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384];
        let remaining = TlsOptions { suites, ..TlsOptions::default() }.provider().cipher_suites;
        let names: Vec<String> = remaining.iter().map(|suite| go_name(suite.suite())).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert_eq!(names.iter().filter(|name| name.contains("ECDHE")).count(), 1, "{names:?}");
    }

    #[test]
    fn groups_match_go_and_are_selectable() {
        let names = |curves: &[u16]| -> Vec<NamedGroup> {
            let options = TlsOptions { curves: curves.to_vec(), ..TlsOptions::default() };
            options.provider().kx_groups.iter().map(|group| group.name()).collect()
        };
        let all = names(&[]);
        for group in [23, 24, 25, 29, 4588].map(NamedGroup::from) {
            assert!(all.contains(&group), "{group:?} is not in {all:?}");
        }
        assert_eq!(all.last(), Some(&NamedGroup::secp521r1));
        assert_eq!(names(&[25]), [NamedGroup::secp521r1]);
        assert_eq!(names(&[23, 29]).len(), 2);
    }

    #[test]
    fn versions_have_go_names() {
        assert_eq!(TlsVersion::parse("VersionTLS13").ok(), Some(TlsVersion::Tls13));
        assert_eq!(TlsVersion::parse("").ok(), Some(TlsVersion::Tls12));
        let error = TlsVersion::parse("1.2").err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), Some("unknown tls version \"1.2\""));
    }
}
