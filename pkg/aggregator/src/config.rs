//! API servers that answer for groups of their own.

use server::tls::CertificateFiles;

/// How this server gets to the API servers behind APIServices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregationConfig {
    /// `--proxy-client-cert-file` and `--proxy-client-key-file`: by what they believe who asks. The files are followed.
    pub certificate: Option<CertificateFiles>,
    /// `--enable-aggregator-routing`: connect to endpoints of Services, not to their cluster IP.
    pub endpoint_routing: bool,
    /// `--aggregator-reject-forwarding-redirect=false`: pass their redirects on to clients.
    pub forward_redirects: bool,
}
