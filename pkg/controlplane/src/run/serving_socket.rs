//! Listening socket and TLS credentials of a server.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use server::BindOptions;
use server::tls::{Tls, TlsContents};
use tokio::net::TcpListener;

use super::certificates;
use super::store::DataDirectory;
use crate::config::Config;
use crate::error::RunError;
use crate::loopback::Loopback;

/// The listening socket with its credentials.
pub(super) struct ServingSocket {
    pub(super) credentials: certificates::Credentials,
    pub(super) contents: TlsContents,
    pub(super) tls: Arc<ArcSwap<Tls>>,
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
}

impl ServingSocket {
    /// Opens the socket and prepares all credentials, including those for loopback requests. If the system
    /// chooses the port, it is stored in `config`. Generated credentials are written, which needs the lock of
    /// the data directory.
    ///
    /// # Errors
    /// An error that prevents listening.
    pub(super) fn open(
        config: &mut Config,
        _locked: &DataDirectory,
        now: i64,
    ) -> Result<(Self, Loopback), RunError> {
        let loopback = Loopback::new(now)?;
        let credentials = certificates::prepare(config, &loopback, now)?;
        let contents = credentials.files.read()?;
        let tls = Arc::new(ArcSwap::from_pointee(Tls::new(&contents, &config.serving.tls)?));
        let (listener, address) = listen(config.serving.bind)?;
        config.serving.bind.address.set_port(address.port());
        certificates::write_kubeconfig(config, &credentials, address, now)?;
        Ok((ServingSocket { credentials, contents, tls, listener, address }, loopback))
    }
}

/// Binds the socket. Returns its address, because the system may choose the port.
fn listen(options: BindOptions) -> Result<(TcpListener, SocketAddr), RunError> {
    let failed = |source| RunError::Listen { address: options.address, source };
    let listener = server::bind(options).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
