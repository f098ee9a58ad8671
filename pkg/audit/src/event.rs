//! The audit record of a request (`audit.k8s.io/v1`, kind `Event`) and its encodings: members in the order of
//! upstream's Go struct, strings escaped like Go's JSON encoder.

mod request_record;

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use apimachinery::go_quote::Quoted;
use apimachinery::request_context::{AuditId, RequestContext};
use apimachinery::request_info::RequestInfo;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use schema::json_write::write_string;

use crate::{Content, Level, Stage};

pub use request_record::RequestRecord;

/// Type metadata of `Event` and `EventList`.
const EVENT: &[u8] = br#""kind":"Event","apiVersion":"audit.k8s.io/v1""#;
const EVENT_LIST: &[u8] = br#""kind":"EventList","apiVersion":"audit.k8s.io/v1""#;

/// The record of a request at one stage.
#[derive(Debug, Clone)]
pub struct Event {
    pub level: Level,
    pub audit_id: AuditId,
    pub stage: Stage,
    /// The members that describe the request and the user.
    pub request_record: RequestRecord,
    /// The object of a resource request.
    pub object: Option<ObjectReference>,
    /// The result, if it is available at this stage.
    pub response_status: Option<ResponseStatus>,
    pub request_object: Option<Content>,
    pub response_object: Option<Content>,
    pub received: UnixTime,
    /// Time at which the request reached the stage.
    pub stage_time: UnixTime,
    /// Annotations of admission plugins, authorizers and other components, by key.
    pub annotations: Vec<(Cow<'static, str>, String)>,
}

/// The object of a request (`objectRef`).
#[derive(Debug, Clone)]
pub struct ObjectReference {
    /// The request. It contributes nothing if it is not a resource request.
    pub request: Arc<RequestContext>,
    /// Values from the object in the request body that the request itself lacks; `None` if there is none.
    pub body_meta: Option<Box<BodyObjectMeta>>,
}

/// Identity from an object in a request body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyObjectMeta {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
}

/// The result of a request (`responseStatus`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseStatus {
    /// `Success` or `Failure`; empty if the response is an object.
    pub status: String,
    pub message: String,
    pub reason: String,
    /// Details of the reason, as JSON.
    pub details: Option<Content>,
    pub code: u16,
}

/// Writes the members of a JSON object.
struct Members<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Members<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Members { out, empty: true }
    }

    /// Starts a member with a constant name, which needs no escapes.
    fn key(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Starts a member with a name that needs escaping.
    fn escaped_key(&mut self, name: &str) -> &mut Vec<u8> {
        self.separate();
        write_string(name.as_bytes(), self.out);
        self.out.push(b':');
        self.out
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
    }

    fn text(&mut self, name: &'static str, value: &str) {
        write_string(value.as_bytes(), self.key(name));
    }

    fn time(&mut self, name: &'static str, value: UnixTime) {
        let out = self.key(name);
        out.push(b'"');
        value.write_rfc3339_micro(out);
        out.push(b'"');
    }

    fn text_if_any(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    /// Appends members that are already JSON.
    fn members(&mut self, json: &[u8]) {
        self.separate();
        self.out.extend_from_slice(json);
    }

    fn raw(&mut self, name: &'static str, json: &[u8]) {
        self.key(name).extend_from_slice(json);
    }

    fn texts_if_any(&mut self, name: &'static str, values: &[String]) {
        if !values.is_empty() {
            write_texts(values, self.key(name));
        }
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

fn write_texts(values: &[String], out: &mut Vec<u8>) {
    let mut before = b'[';
    for value in values {
        out.push(before);
        write_string(value.as_bytes(), out);
        before = b',';
    }
    if values.is_empty() {
        out.push(before);
    }
    out.push(b']');
}

impl Event {
    /// Approximate memory size in bytes: strings and objects, plus a constant for the rest.
    pub fn memory_bytes(&self) -> usize {
        const REST: usize = 2 * 1024;
        let objects = [&self.request_object, &self.response_object];
        let objects = objects.into_iter().flatten().map(|object| object.bytes().len());
        let annotations = self.annotations.iter().map(|(key, value)| key.len() + value.len());
        let request_bytes = self.request_record.members().len();
        objects.chain(annotations).chain([request_bytes]).fold(REST, usize::saturating_add)
    }

    /// Sets an annotation. The first value of a key wins.
    pub fn annotate(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let key = key.into();
        if self.annotations.iter().all(|(existing, _)| *existing != key) {
            self.annotations.push((key, value.into()));
        }
    }

    /// Appends the event as a line of JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut event = Members::begin(out);
        event.members(EVENT);
        self.write_members(event);
        out.push(b'\n');
    }

    fn write_members(&self, mut event: Members<'_>) {
        event.text("level", self.level.name());
        event.text("auditID", self.audit_id.as_str());
        event.text("stage", self.stage.name());
        event.members(self.request_record.members());
        if let Some(object) = &self.object {
            object.write(event.key("objectRef"));
        }
        if let Some(status) = &self.response_status {
            status.write(event.key("responseStatus"));
        }
        if let Some(object) = &self.request_object {
            event.raw("requestObject", object.bytes());
        }
        if let Some(object) = &self.response_object {
            event.raw("responseObject", object.bytes());
        }
        event.time("requestReceivedTimestamp", self.received);
        event.time("stageTimestamp", self.stage_time);
        if !self.annotations.is_empty() {
            // Go marshals maps in the order of their keys.
            let mut sorted: Vec<_> = self.annotations.iter().collect();
            sorted.sort();
            let mut annotations = Members::begin(event.key("annotations"));
            for (key, value) in sorted {
                write_string(value.as_bytes(), annotations.escaped_key(key));
            }
            annotations.end();
        }
        event.end();
    }

    /// The event in upstream's legacy text format, on one line without a line end. Error logs use it too.
    pub fn legacy(&self) -> String {
        let (user, target) = self.request_record.legacy();
        let namespace = self.object.as_ref().map(ObjectReference::namespace);
        let response = self.response_status.as_ref();
        format!(
            "{} AUDIT: id={} stage={} {user} namespace={} {target} response=\"{}\"",
            rfc3339_nano(self.received),
            Quoted(self.audit_id.as_str()),
            Quoted(self.stage.name()),
            Quoted(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("<none>")),
            response.map_or("<deferred>".to_owned(), |status| status.code.to_string()),
        )
    }
}

/// Appends an `EventList` as a line of JSON. The items have no `kind` and `apiVersion`.
pub fn write_list(events: &[Event], out: &mut Vec<u8>) {
    let mut list = Members::begin(out);
    list.members(EVENT_LIST);
    list.raw("metadata", b"{}");
    let items = list.key("items");
    items.push(b'[');
    for (at, event) in events.iter().enumerate() {
        if at > 0 {
            items.push(b',');
        }
        event.write_members(Members::begin(items));
    }
    items.push(b']');
    list.end();
    out.push(b'\n');
}

/// A time like Go's `RFC3339Nano`, in UTC: trailing zeros of the fraction are omitted.
fn rfc3339_nano(time: UnixTime) -> String {
    let seconds = time.rfc3339().to_string();
    let nanos = format!("{:09}", time.nanos);
    match nanos.trim_end_matches('0') {
        "" => seconds,
        digits => format!("{}.{digits}Z", seconds.trim_end_matches('Z')),
    }
}

fn write_user(user: &UserInfo, out: &mut Vec<u8>) {
    let mut members = Members::begin(out);
    members.text_if_any("username", &user.name);
    members.text_if_any("uid", &user.uid);
    members.texts_if_any("groups", &user.groups);
    if !user.extra.is_empty() {
        let mut extra = Members::begin(members.key("extra"));
        for (key, values) in &user.extra {
            write_texts(values, extra.escaped_key(key));
        }
        extra.end();
    }
    members.end();
}

impl ObjectReference {
    fn namespace(&self) -> &str {
        self.request_or_body(|info| &info.namespace, |body| &body.namespace)
    }

    /// The value from the request, or otherwise from its object.
    fn request_or_body(
        &self,
        info: fn(&RequestInfo) -> &String,
        of_body: fn(&BodyObjectMeta) -> &String,
    ) -> &str {
        let value = Some(&self.request.info).filter(|info| info.is_resource).map(info);
        let value = value.filter(|value| !value.is_empty());
        value.or_else(|| self.body_meta.as_deref().map(of_body)).map_or("", String::as_str)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let info = Some(&self.request.info).filter(|info| info.is_resource);
        let body = self.body_meta.as_deref();
        let of_info = |part: fn(&RequestInfo) -> &String| info.map_or("", |info| part(info));
        let of_object = |part: fn(&BodyObjectMeta) -> &String| body.map_or("", |body| part(body));
        let mut members = Members::begin(out);
        members.text_if_any("resource", of_info(|info| &info.resource));
        members.text_if_any("namespace", self.namespace());
        members.text_if_any("name", self.request_or_body(|info| &info.name, |body| &body.name));
        members.text_if_any("uid", of_object(|body| &body.uid));
        members.text_if_any("apiGroup", of_info(|info| &info.group));
        members.text_if_any("apiVersion", of_info(|info| &info.version));
        members.text_if_any("resourceVersion", of_object(|body| &body.resource_version));
        members.text_if_any("subresource", of_info(|info| &info.subresource));
        members.end();
    }
}

impl ResponseStatus {
    fn write(&self, out: &mut Vec<u8>) {
        let mut members = Members::begin(out);
        members.raw("metadata", b"{}");
        members.text_if_any("status", &self.status);
        members.text_if_any("message", &self.message);
        members.text_if_any("reason", &self.reason);
        if let Some(details) = &self.details {
            members.raw("details", details.bytes());
        }
        if self.code != 0 {
            let _ = write!(members.key("code"), "{}", self.code);
        }
        members.end();
    }
}

#[cfg(test)]
pub(crate) mod tests;
