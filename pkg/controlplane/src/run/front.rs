//! Where a server listens, and with which credentials.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use server::BindOptions;
use server::tls::{Tls, TlsContents};
use tokio::net::TcpListener;

use super::certificates;
use crate::config::Config;
use crate::error::RunError;
use crate::loopback::Loopback;

/// What clients meet first.
pub(super) struct Front {
    pub(super) credentials: certificates::Credentials,
    pub(super) contents: TlsContents,
    pub(super) tls: Arc<ArcSwap<Tls>>,
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
}

impl Front {
    /// Credentials and a socket, and how the server calls itself. Where the system chooses the port, `config` learns it.
    ///
    /// # Errors
    /// What keeps a server from listening.
    pub(super) fn open(config: &mut Config, now: i64) -> Result<(Self, Loopback), RunError> {
        let loopback = Loopback::new(now)?;
        let credentials = certificates::prepare(config, &loopback, now)?;
        let contents = credentials.files.read()?;
        let tls = Arc::new(ArcSwap::from_pointee(Tls::new(&contents, &config.serving.tls)?));
        let (listener, address) = listen(config.serving.bind)?;
        config.serving.bind.address.set_port(address.port());
        certificates::write_kubeconfig(config, &credentials, address, now)?;
        Ok((Front { credentials, contents, tls, listener, address }, loopback))
    }
}

/// Listens, and says where: the system may have chosen the port.
fn listen(options: BindOptions) -> Result<(TcpListener, SocketAddr), RunError> {
    let failed = |source| RunError::Listen { address: options.address, source };
    let listener = server::bind(options).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
