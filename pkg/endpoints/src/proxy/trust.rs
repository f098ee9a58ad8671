//! TLS trust of backend connections, and the addresses that they may lead to.

use std::net::{IpAddr, Ipv4Addr};

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
    /// As `Kubelet`, at an address that clients may be connected to ([`is_global`]).
    CheckedKubelet,
    /// As `AnyServer`, at an address that clients may be connected to ([`is_global`]).
    CheckedServer,
}

/// True if clients may be connected to the address: not loopback, link-local, multicast,
/// unspecified or broadcast (Go's `IsGlobalUnicast`).
pub fn is_global(address: IpAddr) -> bool {
    let local = match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_link_local() || v4 == Ipv4Addr::BROADCAST,
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let address = address.to_canonical();
    !(local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}
