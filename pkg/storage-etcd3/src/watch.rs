//! The driver of one watch: keeps a connection to some member, feeds the [`Cursor`], and reconnects from the
//! cursor's position when the connection breaks.
//!
//! It is a stream without a task of its own: the consumer exerts backpressure on etcd (the stream's window
//! bounds the buffered data), and dropping it cancels the watch.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::proto::PbWatchResponse;
use etcd_client::{WatchRequestSender, WatchResponseStream};
use futures::stream::{self, StreamExt};
use storage::{Error, Revision, WatchItem, WatchOptions, WatchStream};
use tokio::sync::watch as signal;
use tokio::time::sleep;

use crate::call_error::CallError;
use crate::cursor::{Cursor, FailureScope, Step};
use crate::member::{Member, StandingObserver};
use crate::members::Members;
use crate::range_check::prefix_end;

/// Counts progress requests; lagging watches see several as one.
pub(crate) type ProgressSignal = signal::Receiver<u64>;

struct Connection {
    member: Arc<Member>,
    standing: StandingObserver,
    requests: WatchRequestSender,
    responses: WatchResponseStream,
}

/// State of the watch's end.
enum End {
    /// The watch continues.
    Open,
    /// This error must still be delivered.
    Failed(Error),
    /// The stream has ended.
    Ended,
}

/// The end of a wait for the next response.
enum WaitResult {
    Response(Result<PbWatchResponse, CallError>),
    ProgressWanted,
}

pub(crate) struct Watch {
    members: Arc<Members>,
    key: String,
    options: WatchOptions,
    cursor: Cursor,
    connection: Option<Connection>,
    /// Number of failed connections since the last response.
    failures: usize,
    connect_timeout: Duration,
    /// `None` once the store is dropped, or if progress is not requested.
    progress: Option<ProgressSignal>,
    /// True if progress was requested and has not yet arrived.
    progress_pending: bool,
    items: VecDeque<WatchItem>,
    end: End,
}

impl Watch {
    /// A watch that is not yet connected. `start` is at least 1.
    pub(crate) fn new(
        members: Arc<Members>,
        key: &str,
        start: Revision,
        options: WatchOptions,
        connect_timeout: Duration,
        progress: ProgressSignal,
    ) -> Self {
        Self {
            cursor: Cursor::new(start, options.progress, members.foreign_keys.clone()),
            members,
            key: key.to_owned(),
            progress: options.progress.then_some(progress),
            options,
            connection: None,
            failures: 0,
            connect_timeout,
            progress_pending: false,
            items: VecDeque::new(),
            end: End::Open,
        }
    }

    /// Establishes the watch. Retries indefinitely; the caller sets the time limit.
    pub(crate) async fn open(mut self) -> Result<WatchStream, Error> {
        while self.connection.is_none() {
            self.connect().await;
            if let End::Failed(error) = self.end {
                return Err(error);
            }
        }
        let items = stream::unfold(Box::new(self), |mut watch| async move {
            watch.next_item().await.map(|item| (item, watch))
        });
        Ok(items.boxed())
    }

    async fn next_item(&mut self) -> Option<Result<WatchItem, Error>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(Ok(item));
            }
            match std::mem::replace(&mut self.end, End::Open) {
                End::Open => {}
                End::Failed(error) => {
                    self.end = End::Ended;
                    return Some(Err(error));
                }
                End::Ended => {
                    self.end = End::Ended;
                    return None;
                }
            }
            match self.connection.take() {
                Some(connection) => self.advance(connection).await,
                None => self.connect().await,
            }
        }
    }

    /// Waits for one event on the connection, and keeps the connection unless it is unusable.
    async fn advance(&mut self, mut connection: Connection) {
        match self.step(&mut connection).await {
            Ok(()) => self.connection = Some(connection),
            Err(lost) => self.handle_loss(&connection.member, lost),
        }
    }

    async fn step(&mut self, connection: &mut Connection) -> Result<(), FailureScope> {
        match self.wait(connection).await {
            WaitResult::ProgressWanted => {
                self.progress_pending = true;
                connection.requests.request_progress().await.map_err(|e| FailureScope::Connection(e.into()))
            }
            WaitResult::Response(response) => {
                // The next connection shows if a failure is permanent.
                let response = response.map_err(FailureScope::Connection)?;
                self.failures = 0;
                if self.cursor.on_response(response, &mut self.items)? == Step::Progress {
                    self.progress_pending = false;
                }
                Ok(())
            }
        }
    }

    async fn wait(&mut self, connection: &mut Connection) -> WaitResult {
        let progress_requested = async {
            let changed = match &mut self.progress {
                Some(progress) => progress.changed().await.is_ok(),
                None => false,
            };
            // If the store is dropped, progress can no longer be requested; the watch continues.
            if !changed {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            response = receive(&mut connection.responses) => WaitResult::Response(response),
            () = progress_requested => WaitResult::ProgressWanted,
            () = self.members.wait_until_suspect(&connection.member, &mut connection.standing) => WaitResult::Response(Err(CallError::TryLater(
                "another member is in better standing".into(),
            ))),
        }
    }

    /// Attempts to connect once. Afterwards there is a connection, `failures` has increased, or the end is
    /// due.
    async fn connect(&mut self) {
        if self.failures > 0 {
            sleep(self.members.pause_after(self.failures)).await;
        }
        let member = self.members.pick();
        self.cursor.reconnected();
        let members = self.members.clone();
        let limit = self.connect_timeout;
        let lost = match members.wait_for(&member, limit, Duration::ZERO, self.attach(&member)).await {
            Ok(Ok(connection)) => return self.connection = Some(connection),
            Ok(Err(lost)) => lost,
            Err(failure) => FailureScope::Connection(failure),
        };
        self.handle_loss(&member, lost);
    }

    /// Opens a stream from the cursor's position and waits until etcd confirms the watch.
    async fn attach(&mut self, member: &Arc<Member>) -> Result<Connection, FailureScope> {
        let standing = member.observe_standing();
        let stream =
            member.watch().watch(self.key.as_str(), Some(self.request())).await.map_err(CallError::from)?;
        let (requests, responses) = stream.split();
        let mut connection = Connection { member: member.clone(), standing, requests, responses };
        while self.cursor.on_response(receive(&mut connection.responses).await?, &mut self.items)?
            != Step::Created
        {}
        if self.progress_pending {
            connection.requests.request_progress().await.map_err(CallError::from)?;
        }
        Ok(connection)
    }

    fn request(&self) -> etcd_client::WatchOptions {
        // Fragments bound the message size when many revisions are outstanding.
        let mut request =
            etcd_client::WatchOptions::new().with_start_revision(self.cursor.next()).with_fragment();
        if !self.options.exact {
            request = request.with_range(prefix_end(&self.key));
        }
        if self.options.prev_kv {
            request = request.with_prev_key();
        }
        if self.options.progress {
            request = request.with_progress_notify();
        }
        request
    }

    fn handle_loss(&mut self, member: &Arc<Member>, lost: FailureScope) {
        let failure = match lost {
            FailureScope::Connection(failure) => failure,
            FailureScope::Watch(error) => return self.end = End::Failed(error),
        };
        let member_url = member.url();
        let key = &self.key;
        let next = self.cursor.next();
        tracing::debug!(member_url, key, next, ?failure, "watch lost its connection");
        self.failures += 1;
        if failure.blames_member() {
            self.members.suspect(member, &failure);
        }
    }
}

/// The next response. The end of the stream is a failure: etcd ends a stream only when it stops.
async fn receive(responses: &mut WatchResponseStream) -> Result<PbWatchResponse, CallError> {
    match responses.message().await {
        Ok(Some(response)) => Ok(response.0),
        Ok(None) => Err(CallError::unavailable("etcd closed the watch".to_owned())),
        Err(error) => Err(error.into()),
    }
}
