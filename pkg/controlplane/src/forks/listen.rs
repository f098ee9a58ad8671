//! How forks are handed out: over a socket of this machine, one fork for each connection.
//!
//! A client sends `fork` and a newline. It gets one line, a JSON object: `{"kubeconfig": "…"}`, or `{"error": "…"}`.
//! The fork lives until the client closes its connection, and is gone then, however the client ended. `parent` in
//! the place of `fork` gives the parent's kubeconfig, to fill it before it is forked. Nothing is said before the
//! client has said what it wants, so no browser gets anything by asking in HTTP.

use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
use crate::error::RunError;

/// How many connections there may be beyond one for each fork.
const CONNECTIONS_MORE: usize = 64;
/// How long a client may take to say what it wants.
const ASK_MAX: Duration = Duration::from_secs(10);
/// The longest word, with its newline.
const WORD_BYTES_MAX: u64 = 16;

/// Where forks are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A socket in the file system, for this user alone.
    Unix(PathBuf),
    /// A port of this machine, for everybody who is on it.
    Loopback(SocketAddr),
}

impl Listen {
    /// Reads `unix:PATH` or an address of this machine alone with a port.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Listen::Unix(path.into()));
        }
        let address: Option<SocketAddr> = text.parse().ok();
        let loopback = address.filter(|address| address.ip().is_loopback());
        let neither = || format!("{text:?} is neither unix:PATH nor a loopback address with a port");
        loopback.map(Listen::Loopback).ok_or_else(neither)
    }
}

/// Hands out forks of `parent` until `stop`; then all forks end. `listening` is told where, once.
///
/// # Errors
/// The socket cannot be had.
pub async fn serve(
    parent: Arc<Parent>,
    listen: &Listen,
    stop: CancellationToken,
    listening: impl FnOnce(&str),
) -> Result<(), RunError> {
    let (tracker, room) = (TaskTracker::new(), parent.room.available_permits() + CONNECTIONS_MORE);
    let clients = Clients {
        parent,
        stop: stop.clone(),
        tracker: tracker.clone(),
        room: Arc::new(Semaphore::new(room)),
    };
    match listen {
        Listen::Unix(path) => {
            let listener = bind(path).await.map_err(|source| RunError::read(path, source))?;
            let owner = fs::metadata(path).map_err(|source| RunError::read(path, source))?.uid();
            listening(&format!("unix:{}", path.display()));
            let accepting = async {
                loop {
                    let accepted = listener.accept().await.map(|(stream, _)| stream);
                    // Who came before the file had its permissions, or has it from elsewhere, may be anybody.
                    let is_own =
                        |stream: &UnixStream| stream.peer_cred().is_ok_and(|peer| may_ask(peer.uid(), owner));
                    if accepted.as_ref().map_or(true, is_own) {
                        clients.take(accepted).await;
                    }
                }
            };
            stop.run_until_cancelled(accepting).await;
            let _ = fs::remove_file(path);
        }
        Listen::Loopback(address) => {
            let failed = |source| RunError::Listen { address: *address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            listening(&listener.local_addr().map_err(failed)?.to_string());
            let accepting = async {
                loop {
                    clients.take(listener.accept().await.map(|(stream, _)| stream)).await;
                }
            };
            stop.run_until_cancelled(accepting).await;
        }
    }
    tracker.close();
    tracker.wait().await;
    Ok(())
}

/// Listens at a path, in the place of a process that is gone.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    if path.exists()
        && UnixStream::connect(path).await.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
    {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether a user may have forks over the socket of another one: its owner, and who may do anything anyway.
fn may_ask(user: u32, owner: u32) -> bool {
    user == owner || user == 0
}

/// Those who are connected.
struct Clients {
    parent: Arc<Parent>,
    stop: CancellationToken,
    tracker: TaskTracker,
    room: Arc<Semaphore>,
}

impl Clients {
    /// Serves a connection in the background. Waits while there are too many.
    async fn take<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(&self, accepted: io::Result<S>) {
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a client could not be taken");
                // Descriptors are scarce, and will be the next moment.
                return tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        // The semaphore is never closed.
        let Ok(room) = Arc::clone(&self.room).acquire_owned().await else { return };
        let (parent, stop) = (Arc::clone(&self.parent), self.stop.clone());
        self.tracker.spawn(async move {
            let client = client(&parent, &stop, stream);
            if let Err(error) = client.await {
                tracing::debug!(%error, "a client went");
            }
            drop(room);
        });
    }
}

/// One connection: a word, an answer, and the life of a fork.
async fn client<S>(parent: &Parent, stop: &CancellationToken, stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    let mut word = String::new();
    let mut limited = (&mut reader).take(WORD_BYTES_MAX);
    timeout(ASK_MAX, limited.read_line(&mut word)).await.map_err(io::Error::from)??;
    match word.trim_end() {
        "fork" => {}
        "parent" => return answer(&mut writer, "kubeconfig", &parent.kubeconfig()).await,
        _ => return answer(&mut writer, "error", "what is wanted is \"fork\" or \"parent\"").await,
    }
    let fork = match parent.fork().await {
        Ok(fork) => fork,
        Err(error) => return answer(&mut writer, "error", &error.to_string()).await,
    };
    let told = answer(&mut writer, "kubeconfig", &fork.kubeconfig).await;
    if told.is_ok() {
        // Whatever else comes is not looked at, and not kept.
        let mut nowhere = tokio::io::sink();
        let gone = tokio::io::copy(&mut reader, &mut nowhere);
        let _ = stop.run_until_cancelled(gone).await;
    }
    fork.end().await;
    told
}

async fn answer(writer: &mut (impl AsyncWrite + Unpin), name: &str, text: &str) -> io::Result<()> {
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
        assert!(may_ask(1000, 1000) && may_ask(0, 1000));
        assert!(!may_ask(1001, 1000) && !may_ask(1000, 0));
    }

    #[tokio::test]
    async fn nobody_else_may_open_the_socket_and_one_that_was_left_behind_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        for _ in 0..2 {
            // Dropping a listener leaves its file, as a process that is killed does.
            let _listener = bind(&path).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            let taken = bind(&path).await.unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AddrInUse, "somebody listens there");
        }
    }

    #[test]
    fn forks_are_handed_out_to_this_machine_alone() {
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
