//! Calls of another process of this machine: gRPC over a Unix socket. What is said there, others know; here is how
//! long anybody waits, how much an answer may hold, and how a failure reads, which is as Go's gRPC words it.

mod error;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

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

/// How long to wait before a process that is not there is looked for again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// How much the headers and trailers of an answer may hold. In them is what a failure says, which gets into logs, health
/// pages and Statuses.
const HEADERS_BYTES_MAX: u32 = 16 << 10;

/// How many bytes a process may send that nobody has looked at yet, where it is talked to for long.
const WINDOW_BYTES: u32 = 128 << 10;

/// A process at a socket. It is connected to when it is needed, and again when it was away.
#[derive(Debug, Clone)]
pub struct Socket {
    channel: Channel,
    /// As it was given.
    name: String,
    answer_bytes_max: usize,
}

impl Socket {
    /// A socket in the file system, or in the kernel's own name space if `name` begins with `@`. No answer may be
    /// longer than `answer_bytes_max`. Needs a runtime.
    pub fn new(name: &str, answer_bytes_max: usize) -> Self {
        let path = path(name);
        let connector = tower::service_fn(move |_: Uri| unix(path.clone()));
        let channel = endpoint().connect_with_connector_lazy(connector);
        Socket { channel, name: name.to_owned(), answer_bytes_max }
    }

    /// Calls a method, `/package.Service/Method`. Waits for a process that is not there, as upstream does
    /// (`WaitForReady`), and asks again when the connection broke, until `timeout` is over. So a call must be one
    /// that may be made twice.
    ///
    /// # Errors
    /// What the process answered, or that it did not.
    pub async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let path = PathAndQuery::from_static(method);
        let end = Instant::now() + timeout;
        // Why nobody could be asked, while that is so.
        let mut away = None;
        loop {
            let attempt = tokio::time::timeout_at(end, self.attempt(&path, &request));
            match attempt.await {
                Ok(Err(status)) if is_disconnected(&status) => away = Some(self.dialing(&status)),
                Ok(answer) => return answer,
                Err(_) => return Err(deadline_status(away)),
            }
            if tokio::time::timeout_at(end, tokio::time::sleep(RETRY_AFTER)).await.is_err() {
                return Err(deadline_status(away));
            }
        }
    }

    async fn attempt<Q, A>(&self, path: &PathAndQuery, request: &Q) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(self.answer_bytes_max);
        client.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let codec = ProstCodec::<Q, A>::default();
        Ok(client.unary(Request::new(request.clone()), path.clone(), codec).await?.into_inner())
    }

    /// Why there is no connection.
    fn dialing(&self, status: &Status) -> String {
        dialing(&self.name, status).unwrap_or_else(|| format_dial_error(&self.name, status.message()))
    }
}

/// A connection to a process at a socket, named as [`Socket::new`] has it, that is made at once and for whatever its
/// caller wants to say. What comes is kept within 128 KiB until it is read. The connection is made again when it breaks and is used again.
///
/// # Errors
/// That nobody is there, or nobody who speaks HTTP/2 within `timeout`, in the words of Go's gRPC.
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

/// What the system says of a connection that there is not, if that is why.
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

/// The time is over. `away`: nobody could be asked.
fn deadline_status(away: Option<String>) -> Status {
    Status::deadline_exceeded(match away {
        Some(why) => format!("latest balancer error: {why}"),
        None => "context deadline exceeded".to_owned(),
    })
}

/// What led to a failure, from the outside in.
fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// Whether a call failed because nobody is at the other end.
fn is_disconnected(status: &Status) -> bool {
    std::error::Error::source(status).is_some_and(|cause| cause.is::<tonic::transport::Error>())
}

/// A failure in the words of Go's gRPC.
pub fn worded(status: &Status) -> String {
    format!("rpc error: code = {} desc = {}", code_name(status.code()), status.message())
}

/// A code as Go's gRPC names it.
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
