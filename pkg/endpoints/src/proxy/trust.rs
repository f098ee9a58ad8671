//! TLS trust of backend connections.

/// TLS trust of a backend connection and the client certificate that it presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A kubelet. This server presents its client certificate. The kubelet's certificate is verified if a CA
    /// is configured.
    Kubelet,
    /// A kubelet whose certificate is not verified, at the client's request.
    UnverifiedKubelet,
    /// Any server. No client certificate is presented.
    AnyServer,
}
