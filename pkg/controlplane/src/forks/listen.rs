//! Serves forks over a local socket, one fork per connection.
//!
//! A client sends `fork` and a newline. The response is one line with a JSON object: `{"kubeconfig": "…"}`,
//! or `{"error": "…"}`. The fork lives until the connection is closed for any reason. The command `parent`
//! returns the parent's kubeconfig, to fill it before forking. The server sends nothing before a valid
//! command, so a browser cannot get a response over HTTP.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use jsontree::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Parent;
use crate::error::{ConfigurationError, RunError};

/// Maximum number of connections beyond one per fork.
const EXTRA_CONNECTIONS: usize = 64;
/// Maximum wait for the command of a client.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a command with its newline, in bytes.
const COMMAND_BYTES_MAX: u64 = 16;

/// Address of the fork server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket, accessible only to this user.
    Unix(PathBuf),
    /// A loopback port, accessible to all users of this machine.
    Loopback(SocketAddr),
}

impl Listen {
    /// Parses `unix:PATH`, or a loopback address with a port.
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(text: &str) -> Result<Self, ConfigurationError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Listen::Unix(path.into()));
        }
        let address: Option<SocketAddr> = text.parse().ok();
        let loopback = address.filter(|address| address.ip().is_loopback());
        let invalid = || {
            ConfigurationError::Invalid(format!(
                "{text:?} is neither unix:PATH nor a loopback address with a port"
            ))
        };
        loopback.map(Listen::Loopback).ok_or_else(invalid)
    }
}

/// Serves forks of `parent` until `stop`, which ends all forks. `listening` gets the address once.
///
/// # Errors
/// The socket cannot be opened.
pub async fn serve(
    parent: Arc<Parent>,
    listen: &Listen,
    stop: CancellationToken,
    listening: impl FnOnce(&str),
) -> Result<(), RunError> {
    let tracker = TaskTracker::new();
    let permits = parent.permits.available_permits() + EXTRA_CONNECTIONS;
    let clients = Clients {
        parent,
        stop: stop.clone(),
        tracker: tracker.clone(),
        permits: Arc::new(Semaphore::new(permits)),
    };
    match listen {
        Listen::Unix(path) => {
            let listener = bind(path).await.map_err(|source| RunError::read(path, source))?;
            let owner = fs::metadata(path).map_err(|source| RunError::read(path, source))?.uid();
            listening(&format!("unix:{}", path.display()));
            let accepting = async {
                loop {
                    let accepted = listener.accept().await.map(|(stream, _)| stream);
                    // The peer is checked, because a client may have connected before the file had its
                    // permissions, or may have inherited the socket.
                    let is_own = |stream: &UnixStream| {
                        stream.peer_cred().is_ok_and(|peer| is_allowed_peer(peer.uid(), owner))
                    };
                    if accepted.as_ref().map_or(true, is_own) {
                        clients.serve_connection(accepted).await;
                    }
                }
            };
            stop.run_until_cancelled(accepting).await;
            let _ = remove_socket(path);
        }
        Listen::Loopback(address) => {
            let failed = |source| RunError::Listen { address: *address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            listening(&listener.local_addr().map_err(failed)?.to_string());
            let accepting = async {
                loop {
                    clients.serve_connection(listener.accept().await.map(|(stream, _)| stream)).await;
                }
            };
            stop.run_until_cancelled(accepting).await;
        }
    }
    tracker.close();
    tracker.wait().await;
    Ok(())
}

/// Binds a path, and replaces the stale socket of a dead process. A connection to another kind of file is refused
/// just as by a stale socket.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).await.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused) {
        remove_socket(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes a socket. Leaves every other kind of file, and links.
fn remove_socket(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.file_type().is_socket() { fs::remove_file(path) } else { Ok(()) }
}

/// True if a user may request forks over a socket of `owner`: the owner and root.
fn is_allowed_peer(user: u32, owner: u32) -> bool {
    user == owner || user == 0
}

/// Connected clients.
struct Clients {
    parent: Arc<Parent>,
    stop: CancellationToken,
    tracker: TaskTracker,
    permits: Arc<Semaphore>,
}

impl Clients {
    /// Serves a connection in the background. Waits while there are too many.
    async fn serve_connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        &self,
        accepted: io::Result<S>,
    ) {
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a client");
                // File descriptors are exhausted, and will not be available immediately.
                return tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
        let parent = Arc::clone(&self.parent);
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            let client = client(&parent, &stop, stream);
            if let Err(error) = client.await {
                tracing::debug!(%error, "a client disconnected");
            }
            drop(permit);
        });
    }
}

/// Serves one connection: command, response, and the life of the fork.
async fn client<S>(parent: &Parent, stop: &CancellationToken, stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    let mut command = String::new();
    let mut limited = (&mut reader).take(COMMAND_BYTES_MAX);
    timeout(COMMAND_TIMEOUT, limited.read_line(&mut command)).await.map_err(io::Error::from)??;
    match command.trim_end() {
        "fork" => {}
        "parent" => return write_response(&mut writer, "kubeconfig", &parent.kubeconfig()).await,
        _ => return write_response(&mut writer, "error", "the command must be \"fork\" or \"parent\"").await,
    }
    let fork = match parent.fork().await {
        Ok(fork) => fork,
        Err(error) => return write_response(&mut writer, "error", &error.to_string()).await,
    };
    let written = write_response(&mut writer, "kubeconfig", &fork.kubeconfig).await;
    if written.is_ok() {
        // Further input is discarded.
        let mut sink = tokio::io::sink();
        let disconnected = tokio::io::copy(&mut reader, &mut sink);
        let _ = stop.run_until_cancelled(disconnected).await;
    }
    fork.end().await;
    written
}

async fn write_response(writer: &mut (impl AsyncWrite + Unpin), name: &str, text: &str) -> io::Result<()> {
    let mut line = json!({ name: text }).to_string();
    line.push('\n');
    writer.write_all(line.as_bytes()).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_for_its_owner() {
        assert!(is_allowed_peer(1000, 1000) && is_allowed_peer(0, 1000));
        assert!(!is_allowed_peer(1001, 1000) && !is_allowed_peer(1000, 0));
    }

    #[tokio::test]
    async fn socket_is_private_and_stale_one_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        for _ in 0..2 {
            // Dropping a listener leaves its file, like a killed process.
            let _listener = bind(&path).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            let error = bind(&path).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "somebody listens there");
        }
    }

    #[tokio::test]
    async fn only_sockets_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "content").unwrap();
        fs::create_dir(at("directory")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        for (target, link) in [("file", "to-file"), ("stale", "to-stale"), ("nothing", "dangling")] {
            std::os::unix::fs::symlink(at(target), at(link)).unwrap();
        }
        for name in ["file", "directory", "to-file", "to-stale", "dangling"] {
            let before = fs::symlink_metadata(at(name)).unwrap();
            assert_eq!(bind(&at(name)).await.unwrap_err().kind(), io::ErrorKind::AddrInUse, "{name}");
            let after = fs::symlink_metadata(at(name)).unwrap();
            assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()), "{name}");
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"content");
    }

    #[test]
    fn forks_are_served_only_locally() {
        let check =
            |text: &str, expected: Option<Listen>| assert_eq!(Listen::parse(text).ok(), expected, "{text}");
        check("unix:/run/a.sock", Some(Listen::Unix("/run/a.sock".into())));
        check("127.0.0.1:0", Some(Listen::Loopback(([127, 0, 0, 1], 0).into())));
        check("[::1]:7000", Some(Listen::Loopback("[::1]:7000".parse().unwrap())));
        for text in ["unix:", "0.0.0.0:7000", "192.0.2.1:7000", "7000", "localhost:7000", ""] {
            check(text, None);
        }
    }
}
