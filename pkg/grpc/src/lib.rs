//! Calls of another process of this machine: gRPC over a Unix socket. What is said there, others know; here is how
//! long anybody waits, how much an answer may hold, and how a failure reads, which is as Go's gRPC words it.

#[cfg(test)]
mod tests;

use std::error::Error;
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

/// How long to wait before a process that is not there is looked for again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// How much the headers and trailers of an answer may hold. In them is what a failure says, which gets into logs, health
/// pages and Statuses.
const HEADERS_BYTES_MAX: u32 = 16 << 10;

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
        let path = match name.strip_prefix('@') {
            Some(name) => PathBuf::from(format!("\0{name}")),
            None => PathBuf::from(name),
        };
        let connector = tower::service_fn(move |_: Uri| {
            let path = path.clone();
            async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
        });
        let endpoint =
            Endpoint::from_static("http://localhost").http2_max_header_list_size(HEADERS_BYTES_MAX);
        let channel = endpoint.connect_with_connector_lazy(connector);
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
                Ok(Err(status)) if is_away(&status) => away = Some(self.dialing(&status)),
                Ok(answer) => return answer,
                Err(_) => return Err(late(away)),
            }
            if tokio::time::timeout_at(end, tokio::time::sleep(RETRY_AFTER)).await.is_err() {
                return Err(late(away));
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
        let why = causes(status).find_map(|cause| cause.downcast_ref::<io::Error>()).map_or_else(
            || status.message().to_owned(),
            |error| match error.kind() {
                io::ErrorKind::NotFound => "no such file or directory".to_owned(),
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
                _ => error.to_string(),
            },
        );
        format!(
            "connection error: desc = \"transport: Error while dialing: dial unix {}: connect: {why}\"",
            self.name
        )
    }
}

/// The time is over. `away`: nobody could be asked.
fn late(away: Option<String>) -> Status {
    Status::deadline_exceeded(match away {
        Some(why) => format!("latest balancer error: {why}"),
        None => "context deadline exceeded".to_owned(),
    })
}

/// What led to a failure, from the outside in.
fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(status.source(), |&cause| cause.source())
}

/// Whether a call failed because nobody is at the other end.
fn is_away(status: &Status) -> bool {
    status.source().is_some_and(|cause| cause.is::<tonic::transport::Error>())
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
