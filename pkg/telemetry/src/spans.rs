//! [`SpanRecorder`] and [`Tracer`] for OpenTelemetry.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use apimachinery::time::UnixTime;
use component_base::trace::{Attribute, Kind, Origin, RemoteSpan, Span, SpanRecorder, Tracer, Value};
use opentelemetry::trace::{
    Link, Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
    Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

/// The attribute with the audit id; see [`OtelSpan::audit_id`].
const AUDIT_ID: &str = "audit-id";

/// Creates spans. All of them are recorded: the sampling decision was made before.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    pub(crate) requests: SdkTracer,
    pub(crate) inside: SdkTracer,
}

impl Tracer for Spans {
    fn request(&self, name: String, origin: Origin, received: UnixTime, attributes: Vec<Attribute>) -> Span {
        let audit_id = attributes.iter().find(|(key, _)| *key == AUDIT_ID).cloned().map(key_value);
        let builder = self
            .requests
            .span_builder(name)
            .with_kind(SpanKind::Server)
            .with_start_time(system_time(received))
            .with_attributes(attributes.into_iter().map(key_value));
        let span = match origin {
            Origin::New => self.requests.build_with_context(builder, &Context::new()),
            Origin::Linked(remote) => {
                let link = Link::with_context(context_of(remote));
                self.requests.build_with_context(builder.with_links(vec![link]), &Context::new())
            }
            Origin::Continued(remote) => {
                let parent = Context::new().with_remote_span_context(context_of(remote));
                self.requests.build_with_context(builder, &parent)
            }
        };
        Span::recorded(Arc::new(OtelSpan::new(span, self.inside.clone(), audit_id)))
    }
}

#[derive(Debug)]
struct OtelSpan {
    context: SpanContext,
    span: Mutex<opentelemetry_sdk::trace::Span>,
    tracer: SdkTracer,
    /// The request's audit id. Every inner span has it too, so that it can be found from the audit log.
    audit_id: Option<KeyValue>,
}

impl OtelSpan {
    fn new(span: opentelemetry_sdk::trace::Span, tracer: SdkTracer, audit_id: Option<KeyValue>) -> Self {
        OtelSpan { context: span.span_context().clone(), span: Mutex::new(span), tracer, audit_id }
    }

    fn edit(&self, edit: impl FnOnce(&mut opentelemetry_sdk::trace::Span)) {
        edit(&mut self.span.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl SpanRecorder for OtelSpan {
    fn child(&self, name: String, kind: Kind, attributes: Vec<Attribute>) -> Arc<dyn SpanRecorder> {
        let kind = match kind {
            Kind::Internal => SpanKind::Internal,
            Kind::Client => SpanKind::Client,
        };
        let builder = self
            .tracer
            .span_builder(name)
            .with_kind(kind)
            .with_attributes(attributes.into_iter().map(key_value).chain(self.audit_id.clone()));
        let parent = Context::new().with_remote_span_context(self.context.clone());
        let span = self.tracer.build_with_context(builder, &parent);
        Arc::new(OtelSpan::new(span, self.tracer.clone(), self.audit_id.clone()))
    }

    fn set(&self, attribute: Attribute) {
        self.edit(|span| span.set_attribute(key_value(attribute)));
    }

    fn event(&self, name: &'static str, attributes: Vec<Attribute>) {
        self.edit(|span| span.add_event(name, attributes.into_iter().map(key_value).collect()));
    }

    fn failed(&self, why: &str) {
        self.edit(|span| span.set_status(Status::error(why.to_owned())));
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let trace = self.context.trace_id();
        let span = self.context.span_id();
        let sampled = u8::from(self.context.is_sampled());
        let parent = ("traceparent", format!("00-{trace}-{span}-{sampled:02x}"));
        let state = self.context.trace_state().header();
        let state = (!state.is_empty()).then_some(("tracestate", state));
        [Some(parent), state].into_iter().flatten().collect()
    }
}

fn key_value((key, value): Attribute) -> KeyValue {
    match value {
        Value::Text(text) => KeyValue::new(key, text),
        Value::Number(number) => KeyValue::new(key, number),
    }
}

fn context_of(remote: RemoteSpan) -> SpanContext {
    let flags = if remote.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let trace = TraceId::from_bytes(remote.trace_id);
    let span = SpanId::from_bytes(remote.span_id);
    // An invalid trace state is dropped; the parent remains valid without it.
    let state = TraceState::from_str(&remote.state).unwrap_or_default();
    SpanContext::new(trace, span, flags, true, state)
}

fn system_time(time: UnixTime) -> SystemTime {
    let since = Duration::new(time.seconds.unsigned_abs(), time.nanos);
    SystemTime::UNIX_EPOCH + since
}
