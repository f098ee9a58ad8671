//! gRPC calls to other processes on this machine over Unix sockets. The callers define the messages. This
//! crate defines timeouts, size limits and errors in the wording of grpc-go.

mod error;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

pub use error::Error;

/// Delay before the next attempt to connect to a process that is not running.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Maximum size of the headers and trailers of a response, in bytes. They contain the error message, whose start
/// ends up in logs, health pages and Statuses.
const HEADERS_BYTES_MAX: u32 = 16 << 10;

/// HTTP/2 flow-control window in bytes for long-lived streams: the maximum of received bytes that are not yet
/// read.
const WINDOW_BYTES: u32 = 128 << 10;

/// A process at a Unix socket. Connects lazily and reconnects when the connection breaks.
#[derive(Debug, Clone)]
pub struct Socket {
    channel: Channel,
    /// The name as passed to [`Socket::new`].
    name: String,
    response_bytes_max: usize,
}

impl Socket {
    /// A path in the file system, or in the abstract socket namespace if `name` begins with `@`. Answers
    /// longer than `response_bytes_max` are rejected. Must be called within a tokio runtime.
    pub fn new(name: &str, response_bytes_max: usize) -> Self {
        let path = path(name);
        let connector = tower::service_fn(move |_: Uri| unix(path.clone()));
        let channel = endpoint().connect_with_connector_lazy(connector);
        Socket { channel, name: name.to_owned(), response_bytes_max }
    }

    /// Calls a method, `/package.Service/Method`. Like upstream (`WaitForReady`), waits for a process that is
    /// not running and retries broken connections until `timeout` is over. The call must be idempotent
    /// because of these retries.
    ///
    /// # Errors
    /// The status that the process returned, or the connection error.
    pub async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let path = PathAndQuery::from_static(method);
        let end = Instant::now() + timeout;
        // The last connection error, while there is no connection.
        let mut dial_error = None;
        loop {
            let attempt = tokio::time::timeout_at(end, self.attempt(&path, &request));
            match attempt.await {
                Ok(Err(status)) if is_disconnected(&status) => dial_error = Some(self.dialing(&status)),
                Ok(result) => return result,
                Err(_) => return Err(deadline_status(dial_error)),
            }
            if tokio::time::timeout_at(end, tokio::time::sleep(RETRY_AFTER)).await.is_err() {
                return Err(deadline_status(dial_error));
            }
        }
    }

    async fn attempt<Q, A>(&self, path: &PathAndQuery, request: &Q) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(self.response_bytes_max);
        client.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let codec = ProstCodec::<Q, A>::default();
        Ok(client.unary(Request::new(request.clone()), path.clone(), codec).await?.into_inner())
    }

    /// The connection error in the wording of grpc-go.
    fn dialing(&self, status: &Status) -> String {
        dialing(&self.name, status).unwrap_or_else(|| format_dial_error(&self.name, message(status).as_str()))
    }
}

/// Opens a channel to the process at a socket (named as for [`Socket::new`]) immediately, for any service. At
/// most 128 KiB of received data wait to be read. A broken connection is reestablished on the next use.
///
/// # Errors
/// No process accepts connections, or none speaks HTTP/2 within `timeout`; in the wording of grpc-go.
pub async fn connect(name: &str, timeout: Duration) -> Result<Channel, Error> {
    let path = path(name);
    let connector = tower::service_fn(move |_: Uri| unix(path.clone()));
    let endpoint =
        endpoint().initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
    let connected = tokio::time::timeout(timeout, endpoint.connect_with_connector(connector)).await;
    match connected {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(Error::Connect(
            dialing(name, &error).unwrap_or_else(|| format_dial_error(name, &error.to_string())),
        )),
        Err(_) => Err(Error::Connect(format_dial_error(name, "i/o timeout"))),
    }
}

fn endpoint() -> Endpoint {
    Endpoint::from_static("http://localhost").http2_max_header_list_size(HEADERS_BYTES_MAX)
}

fn path(name: &str) -> PathBuf {
    match name.strip_prefix('@') {
        Some(name) => PathBuf::from(format!("\0{name}")),
        None => PathBuf::from(name),
    }
}

async fn unix(path: PathBuf) -> io::Result<TokioIo<UnixStream>> {
    Ok(TokioIo::new(UnixStream::connect(path).await?))
}

/// Converts the operating system's error into grpc-go's wording. `None` if the I/O error is not about
/// connecting.
fn dialing(name: &str, error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>())?;
    let why = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    };
    Some(format_dial_error(name, &why))
}

fn format_dial_error(name: &str, why: &str) -> String {
    format!("connection error: desc = \"transport: Error while dialing: dial unix {name}: connect: {why}\"")
}

/// The deadline error. `away` is the last connection error.
fn deadline_status(away: Option<String>) -> Status {
    Status::deadline_exceeded(match away {
        Some(why) => format!("latest balancer error: {why}"),
        None => "context deadline exceeded".to_owned(),
    })
}

/// The chain of sources of an error, outermost first.
fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// True if the call failed because there is no connection.
fn is_disconnected(status: &Status) -> bool {
    std::error::Error::source(status).is_some_and(|cause| cause.is::<tonic::transport::Error>())
}

/// Formats a status like grpc-go.
pub fn worded(status: &Status) -> String {
    format!("rpc error: code = {} desc = {}", code_name(status.code()), message(status))
}

/// The message of a status, which the other process wrote.
#[expect(clippy::disallowed_methods, reason = "the only reader of the unbounded text")]
fn message(status: &Status) -> ForeignText {
    ForeignText::new(status.message())
}

/// The name of a code in grpc-go.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}
