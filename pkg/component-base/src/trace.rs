//! Spans: what took how long while a request was answered, as far as somebody records that.
//!
//! A [`Span`] is an operation with a name, a begin and an end, attributes, and events; spans form a tree
//! that begins with the request. Most requests are not recorded, and their spans are [`Span::none`], of
//! which every call returns at once.
//!
//! A future that runs [within](Span::within) a span finds it by [`Span::current`]. So storage's contract
//! and what stands between need no parameter for what is mostly nothing. The span is there while the
//! future is polled, and on its thread alone: two servers in one process never see each other's.

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
pub use latencies::{Latencies, Step};
pub use remote::RemoteSpan;

thread_local! {
    /// The span of whatever is being polled on this thread.
    static CURRENT: RefCell<Span> = const { RefCell::new(Span::none()) };
}

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
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

/// What is known of an operation besides its name: a key and a value.
pub type Attribute = (&'static str, Value);

/// Whose side of a call a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work inside this process.
    Internal,
    /// A call that another process answers.
    Client,
}

/// A span that is recorded. It ends when it is dropped.
pub trait Recording: Debug + Send + Sync {
    /// Begins a span below this one.
    fn child(&self, name: String, kind: Kind, attributes: Vec<Attribute>) -> Arc<dyn Recording>;

    /// Adds something that became known.
    fn set(&self, attribute: Attribute);

    /// Notes that something happened now.
    fn event(&self, name: &'static str, attributes: Vec<Attribute>);

    /// Notes that the operation failed.
    fn failed(&self, why: &str);

    /// The headers by which another process is told about the span (W3C's Trace Context).
    fn headers(&self) -> Vec<(&'static str, String)>;
}

/// How the span of a request stands to one that the client told about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The client told about none.
    New,
    /// A trace of its own, with a link to the client's span: nobody may fill somebody else's trace.
    Linked(RemoteSpan),
    /// The client's span is its parent.
    Continued(RemoteSpan),
}

/// What records the spans of requests.
pub trait Tracer: Debug + Send + Sync {
    /// Begins the span of a request that came in at `received` and is recorded.
    fn request(&self, name: String, origin: Origin, received: UnixTime, attributes: Vec<Attribute>) -> Span;
}

/// A span, or none. It ends with its last copy. Whether or not it is recorded, it may be asked how long the steps of
/// its request take ([`timed`](Span::timed)).
#[derive(Debug, Clone, Default)]
pub struct Span {
    recording: Option<Arc<dyn Recording>>,
    latencies: Option<Arc<Latencies>>,
}

impl Span {
    /// The span of what is not recorded.
    pub const fn none() -> Self {
        Span { recording: None, latencies: None }
    }

    /// A span that is recorded.
    pub fn recorded(recording: Arc<dyn Recording>) -> Self {
        Span { recording: Some(recording), latencies: None }
    }

    /// The same span, with what counts how long the steps of its request take.
    #[must_use]
    pub fn timed(self, latencies: &Arc<Latencies>) -> Self {
        Span { latencies: Some(Arc::clone(latencies)), ..self }
    }

    /// The span within which this is called.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// A step of the request within whose span this is called took so long. Nothing happens where nobody counts that.
    pub fn took(step: Step, time: Duration) {
        CURRENT.with_borrow(|span| {
            if let Some(latencies) = &span.latencies {
                latencies.took(step, time);
            }
        });
    }

    /// Whether nothing is recorded.
    pub fn is_none(&self) -> bool {
        self.recording.is_none()
    }

    /// Begins a span below this one; `attributes` is asked only if it is recorded.
    #[must_use]
    pub fn child(&self, name: &str, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        self.below(name, Kind::Internal, attributes)
    }

    /// As [`child`](Self::child), for a call that another process answers.
    #[must_use]
    pub fn call(&self, name: &str, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        self.below(name, Kind::Client, attributes)
    }

    /// Below a span that is not recorded there is nothing: what runs there finds the span that it finds already.
    fn below(&self, name: &str, kind: Kind, attributes: impl FnOnce() -> Vec<Attribute>) -> Span {
        let Some(parent) = &self.recording else { return Span::none() };
        let recording = Some(parent.child(name.to_owned(), kind, attributes()));
        Span { recording, latencies: self.latencies.clone() }
    }

    /// Adds something that became known.
    pub fn set(&self, name: &'static str, value: impl Into<Value>) {
        if let Some(recording) = &self.recording {
            recording.set((name, value.into()));
        }
    }

    /// Notes that something happened now.
    pub fn event(&self, name: &'static str) {
        if let Some(recording) = &self.recording {
            recording.event(name, Vec::new());
        }
    }

    /// Notes that something happened now, and one thing about it.
    pub fn event_with(&self, name: &'static str, key: &'static str, value: impl Into<Value>) {
        if let Some(recording) = &self.recording {
            recording.event(name, vec![(key, value.into())]);
        }
    }

    /// Notes that the operation failed.
    pub fn failed(&self, why: &str) {
        if let Some(recording) = &self.recording {
            recording.failed(why);
        }
    }

    /// The headers that tell another process about this span.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        self.recording.as_ref().map(|recording| recording.headers()).unwrap_or_default()
    }

    /// Runs a future within this span; it ends no later than the future does, if there is no other copy.
    /// Without a span and without latencies, the future runs within whatever is there already.
    pub fn within<F: Future + Unpin>(self, future: F) -> Within<F> {
        Within { span: self, future }
    }
}

/// A future within a span; see [`Span::within`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Within<F> {
    span: Span,
    future: F,
}

impl<F: Future + Unpin> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.span.is_none() && self.span.latencies.is_none() {
            return Pin::new(&mut self.future).poll(cx);
        }
        let _entered = Entered::new(self.span.clone());
        Pin::new(&mut self.future).poll(cx)
    }
}

/// Puts the span back that was current before, even if a poll panics.
struct Entered {
    before: Span,
}

impl Entered {
    fn new(span: Span) -> Self {
        Entered { before: CURRENT.replace(span) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let ours = CURRENT.replace(std::mem::take(&mut self.before));
        // The last copy ends the span, which may look at what is current.
        drop(ours);
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

    /// Writes down what happens, with the path of names down to where.
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

    impl Recording for Noted {
        fn child(&self, name: String, kind: Kind, attributes: Vec<Attribute>) -> Arc<dyn Recording> {
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
    fn what_runs_within_a_span_finds_it_and_nobody_else_does() {
        let (root, notes) = Noted::root();
        let work = pin!(async {
            Span::current().event("within");
            let inner = Span::current().child("inner", || vec![("len", 5_usize.into())]);
            inner.within(pin!(async { Span::current().event("deeper") })).await;
            Span::current().event("back");
        });
        assert!(poll(root.within(work)).is_ready());
        Span::current().event("outside");
        let expected =
            ["root: within", "root: Internal inner 1", "root/inner: deeper", "root/inner: end", "root: back"];
        assert_eq!(notes.lock().unwrap()[..5], expected);
        assert_eq!(notes.lock().unwrap()[5..], ["root: end"]);
    }

    #[test]
    fn a_span_is_left_when_its_future_waits_or_panics() {
        let (root, _) = Noted::root();
        let waiting = pin!(std::future::pending::<()>());
        assert!(poll(root.clone().within(waiting)).is_pending() && Span::current().is_none());
        let panics = pin!(async { assert!(Span::current().is_none(), "there is one") });
        assert!(catch_unwind(AssertUnwindSafe(|| poll(root.within(panics)))).is_err());
        assert!(Span::current().is_none());
    }

    #[test]
    fn what_a_request_took_is_counted_wherever_it_was() {
        let latencies = Arc::<Latencies>::default();
        let (root, _) = Noted::root();
        for span in [Span::none(), root] {
            let work = pin!(async {
                let inner = Span::current().child("inner", Vec::new);
                inner.within(pin!(async { Span::took(Step::Storage, Duration::from_millis(2)) })).await;
            });
            assert!(poll(span.timed(&latencies).within(work)).is_ready());
        }
        Span::took(Step::Storage, Duration::from_secs(9));
        assert_eq!(latencies.all().collect::<Vec<_>>(), [(Step::Storage, Duration::from_millis(4))]);
    }

    #[test]
    fn no_span_asks_for_nothing() {
        let unasked = || -> Vec<Attribute> { unreachable!("nobody records this") };
        let none = Span::none();
        assert!(none.child("a", unasked).is_none() && none.call("b", unasked).is_none());
        assert_eq!(none.headers(), []);
    }
}
