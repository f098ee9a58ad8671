//! Configuration of the aggregation layer.

use server::tls::CertificateFiles;

/// Connections to the API servers behind APIServices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregationConfig {
    /// `--proxy-client-cert-file` and `--proxy-client-key-file`: client certificate as authenticating proxy.
    /// The files are reloaded when they change.
    pub certificate: Option<CertificateFiles>,
    /// `--enable-aggregator-routing`: connects to endpoints of Services instead of their cluster IP.
    pub endpoint_routing: bool,
    /// `--aggregator-reject-forwarding-redirect=false`: passes redirects on to clients.
    pub forward_redirects: bool,
}
