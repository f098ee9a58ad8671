//! Trace spans: durations of the steps of a request, if it is sampled.
//!
//! A [`Span`] is an operation with a name, start, end, attributes and events. Spans form a tree with the
//! request at the root. Most requests are not sampled; every call on their [`Span::none`] returns
//! immediately.
//!
//! A future that runs [within](Span::instrument) a span gets it from [`Span::current`]. So the storage contract
//! and the layers in between need no span parameter. The span is current while the future is polled, and on
//! its thread only: several servers in one process never see each other's spans.

mod latencies;
mod remote;

use std::cell::RefCell;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use apimachinery::time::UnixTime;
pub use latencies::{Latencies, NamedCall, Step};
pub use remote::RemoteSpan;

thread_local! {
    /// Span of the future that is being polled on this thread.
    static CURRENT: RefCell<Span> = const { RefCell::new(Span::none()) };
}

/// Attribute value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// UTF-8 text.
    Text(String),
    /// Signed integer.
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Attribute of a span: key and value.
pub type Attribute = (&'static str, Value);

/// Role of a span in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work inside this process.
    Internal,
    /// Call to another process.
    Client,
}

/// Sampled span, which ends when it is dropped.
pub trait SpanRecorder: Debug + Send + Sync {
    /// Starts a child span.
    fn child(&self, name: String, kind: Kind, attributes: Vec<Attribute>) -> Arc<dyn SpanRecorder>;

    /// Adds an attribute that was unknown at the start of the span.
    fn set(&self, attribute: Attribute);

    /// Records an event at the current time.
    fn event(&self, name: &'static str, attributes: Vec<Attribute>);

    /// Records a failure of the operation.
    fn failed(&self, why: &str);

    /// Headers that propagate the span to another process (W3C Trace Context).
    fn headers(&self) -> Vec<(&'static str, String)>;
}

/// Relation of a request's span to the span of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The client sent no span.
    New,
    /// A new trace with a link to the client's span, so that clients cannot add to traces of others.
    Linked(RemoteSpan),
    /// The client's span is the parent.
    Continued(RemoteSpan),
}

/// Creates the spans of requests.
pub trait Tracer: Debug + Send + Sync {
    /// Starts the span of a sampled request that was received at `received`.
    fn request(&self, name: String, origin: Origin, received: UnixTime, attributes: Vec<Attribute>) -> Span;
}

/// A span, or none. It ends when its last clone is dropped. Independent of sampling, it can record the
/// latencies of its request's steps ([`timed`](Span::timed)).
#[derive(Debug, Clone, Default)]
pub struct Span {
    recording: Option<Arc<dyn SpanRecorder>>,
    latencies: Option<Arc<Latencies>>,
}

impl Span {
    /// Span of an operation that is not sampled.
    pub const fn none() -> Self {
        Span { recording: None, latencies: None }
    }

    /// Wraps a sampled span.
    pub fn recorded(recording: Arc<dyn SpanRecorder>) -> Self {
        Span { recording: Some(recording), latencies: None }
    }

    /// Returns the same span with a recorder for the latencies of its request's steps.
    #[must_use]
    pub fn timed(self, latencies: &Arc<Latencies>) -> Self {
        Span { latencies: Some(Arc::clone(latencies)), ..self }
    }

    /// Returns the current span.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Records the duration of a step of the current request. No effect without a recorder.
    pub fn record_step(step: Step, time: Duration) {
        CURRENT.with_borrow(|span| {
            if let Some(latencies) = &span.latencies {
                latencies.record(step, time);
            }
        });
    }

    /// Records the duration of a call by the current request. `name` is called only for a long call. No effect
    /// without a recorder.
    pub fn record_call(time: Duration, name: impl FnOnce() -> String) {
        CURRENT.with_borrow(|span| {
            if let Some(latencies) = &span.latencies {
                latencies.record_call(time, name);
            }
        });
    }

    /// True if the operation is not sampled.
    pub fn is_none(&self) -> bool {
        self.recording.is_none()
    }

    /// Starts a child span; `attributes` is called only if the span is sampled.
    #[must_use]
    pub fn child(&self, name: &str, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        self.below(name, Kind::Internal, attributes)
    }

    /// As [`child`](Self::child), for a call to another process.
    #[must_use]
    pub fn call(&self, name: &str, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        self.below(name, Kind::Client, attributes)
    }

    /// Starts a child span. Below an unsampled span nothing is created, and the current span stays.
    fn below(&self, name: &str, kind: Kind, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        let Some(parent) = &self.recording else { return Span::none() };
        let recording = Some(parent.child(name.to_owned(), kind, attributes()));
        Span { recording, latencies: self.latencies.clone() }
    }

    /// Sets an attribute.
    pub fn set(&self, name: &'static str, value: impl Into<Value>) {
        if let Some(recording) = &self.recording {
            recording.set((name, value.into()));
        }
    }

    /// Records an event at the current time.
    pub fn event(&self, name: &'static str) {
        if let Some(recording) = &self.recording {
            recording.event(name, Vec::new());
        }
    }

    /// Records an event with one attribute at the current time.
    pub fn event_with(&self, name: &'static str, key: &'static str, value: impl Into<Value>) {
        if let Some(recording) = &self.recording {
            recording.event(name, vec![(key, value.into())]);
        }
    }

    /// Records a failure of the operation.
    pub fn failed(&self, why: &str) {
        if let Some(recording) = &self.recording {
            recording.failed(why);
        }
    }

    /// Headers that propagate this span to another process.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        self.recording.as_ref().map(|recording| recording.headers()).unwrap_or_default()
    }

    /// Runs a future within this span, which ends with the future unless there is another clone. Without a
    /// span and latencies, the future runs within the current span.
    pub fn instrument<F: Future + Unpin>(self, future: F) -> SpanFuture<F> {
        SpanFuture { span: self, future }
    }
}

/// A future within a span; see [`Span::instrument`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct SpanFuture<F> {
    span: Span,
    future: F,
}

impl<F: Future + Unpin> Future for SpanFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.span.is_none() && self.span.latencies.is_none() {
            return Pin::new(&mut self.future).poll(cx);
        }
        let _entered = EnteredSpan::new(self.span.clone());
        Pin::new(&mut self.future).poll(cx)
    }
}

/// Restores the previous current span, even if a poll panics.
struct EnteredSpan {
    before: Span,
}

impl EnteredSpan {
    fn new(span: Span) -> Self {
        EnteredSpan { before: CURRENT.replace(span) }
    }
}

impl Drop for EnteredSpan {
    fn drop(&mut self) {
        let span = CURRENT.replace(std::mem::take(&mut self.before));
        // Dropping the last clone ends the span, which may access the current span.
        drop(span);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::sync::Mutex;
    use std::task::Waker;

    use super::*;

    /// Recorder that logs all calls with the path of span names.
    #[derive(Debug)]
    struct Noted {
        path: String,
        notes: Arc<Mutex<Vec<String>>>,
    }

    impl Noted {
        fn root() -> (Span, Arc<Mutex<Vec<String>>>) {
            let notes = Arc::<Mutex<Vec<String>>>::default();
            let noted = Noted { path: "root".to_owned(), notes: Arc::clone(&notes) };
            (Span::recorded(Arc::new(noted)), notes)
        }

        fn note(&self, text: impl std::fmt::Display) {
            self.notes.lock().unwrap().push(format!("{}: {text}", self.path));
        }
    }

    impl SpanRecorder for Noted {
        fn child(&self, name: String, kind: Kind, attributes: Vec<Attribute>) -> Arc<dyn SpanRecorder> {
            self.note(format_args!("{kind:?} {name} {}", attributes.len()));
            Arc::new(Noted { path: format!("{}/{name}", self.path), notes: Arc::clone(&self.notes) })
        }

        fn set(&self, attribute: Attribute) {
            self.note(format_args!("{attribute:?}"));
        }

        fn event(&self, name: &'static str, _: Vec<Attribute>) {
            self.note(name);
        }

        fn failed(&self, why: &str) {
            self.note(why);
        }

        fn headers(&self) -> Vec<(&'static str, String)> {
            vec![("traceparent", self.path.clone())]
        }
    }

    impl Drop for Noted {
        fn drop(&mut self) {
            self.note("end");
        }
    }

    fn poll<F: Future + Unpin>(future: F) -> Poll<F::Output> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn span_is_current_only_within_its_future() {
        let (root, notes) = Noted::root();
        let work = pin!(async {
            Span::current().event("within");
            let inner = Span::current().child("inner", || vec![("len", 5_usize.into())]);
            inner.instrument(pin!(async { Span::current().event("deeper") })).await;
            Span::current().event("back");
        });
        assert!(poll(root.instrument(work)).is_ready());
        Span::current().event("outside");
        let expected =
            ["root: within", "root: Internal inner 1", "root/inner: deeper", "root/inner: end", "root: back"];
        assert_eq!(notes.lock().unwrap()[..5], expected);
        assert_eq!(notes.lock().unwrap()[5..], ["root: end"]);
    }

    #[test]
    fn span_is_not_current_after_pending_or_panic() {
        let (root, _) = Noted::root();
        let waiting = pin!(std::future::pending::<()>());
        assert!(poll(root.clone().instrument(waiting)).is_pending() && Span::current().is_none());
        let panics = pin!(async { assert!(Span::current().is_none(), "there is one") });
        assert!(catch_unwind(AssertUnwindSafe(|| poll(root.instrument(panics)))).is_err());
        assert!(Span::current().is_none());
    }

    #[test]
    fn latencies_are_recorded_at_every_depth() {
        let latencies = Arc::<Latencies>::default();
        let (root, _) = Noted::root();
        for span in [Span::none(), root] {
            let work = pin!(async {
                let inner = Span::current().child("inner", Vec::new);
                inner
                    .instrument(pin!(async { Span::record_step(Step::Storage, Duration::from_millis(2)) }))
                    .await;
            });
            assert!(poll(span.timed(&latencies).instrument(work)).is_ready());
        }
        Span::record_step(Step::Storage, Duration::from_secs(9));
        assert_eq!(latencies.all().collect::<Vec<_>>(), [(Step::Storage, Duration::from_millis(4))]);
    }

    #[test]
    fn unsampled_span_computes_no_attributes() {
        let unasked = || -> Vec<Attribute> { unreachable!("nobody records this") };
        let none = Span::none();
        assert!(none.child("a", unasked).is_none() && none.call("b", unasked).is_none());
        assert_eq!(none.headers(), []);
    }
}
