//! What is recorded of a request (`audit.k8s.io/v1`, kind `Event`), and how it is written: members in the order of
//! upstream's Go struct, texts as Go's JSON writes them.

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

/// The members that say what a thing is, `Event` or `EventList`.
const EVENT: &[u8] = br#""kind":"Event","apiVersion":"audit.k8s.io/v1""#;
const EVENT_LIST: &[u8] = br#""kind":"EventList","apiVersion":"audit.k8s.io/v1""#;

/// A record of a request at one stage.
#[derive(Debug, Clone)]
pub struct Event {
    /// How much is recorded.
    pub level: Level,
    /// The id of the request.
    pub audit_id: AuditId,
    /// When in its life.
    pub stage: Stage,
    /// What it asks for, and who sent it.
    pub asked: RequestRecord,
    /// What it is about, if that is a resource.
    pub object: Option<ObjectReference>,
    /// What came of it, once that is known.
    pub response_status: Option<ResponseStatus>,
    /// The object in the request.
    pub request_object: Option<Content>,
    /// The object in the answer.
    pub response_object: Option<Content>,
    /// When it came in.
    pub received: UnixTime,
    /// When it got to the stage.
    pub stage_time: UnixTime,
    /// What those who took part in it noted, by key.
    pub annotations: Vec<(Cow<'static, str>, String)>,
}

/// What a request is about.
#[derive(Debug, Clone)]
pub struct ObjectReference {
    /// The request. One that is about no resource says nothing of it.
    pub request: Arc<RequestContext>,
    /// What the object in the request says where the request does not; `None` for none.
    pub brought: Option<Box<BodyObjectMeta>>,
}

/// What an object in a request says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyObjectMeta {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
}

/// What came of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseStatus {
    /// `Success` or `Failure`; empty where the answer is an object.
    pub status: String,
    /// Text for people.
    pub message: String,
    /// Text for programs.
    pub reason: String,
    /// More of that, as JSON.
    pub details: Option<Content>,
    /// The code of the answer.
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

    /// Begins a member with a name of ours, in which nothing has to be escaped.
    fn key(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Begins a member with a name from outside.
    fn foreign_key(&mut self, name: &str) -> &mut Vec<u8> {
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

    /// Members that are written already.
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
    /// About how much memory it takes, in bytes: its texts and objects, and something for the rest.
    pub fn weight(&self) -> usize {
        const REST: usize = 2 * 1024;
        let objects = [&self.request_object, &self.response_object];
        let objects = objects.into_iter().flatten().map(|object| object.bytes().len());
        let annotations = self.annotations.iter().map(|(key, value)| key.len() + value.len());
        let asked = self.asked.members().len();
        objects.chain(annotations).chain([asked]).fold(REST, usize::saturating_add)
    }

    /// Sets an annotation. The first value of a key stays.
    pub fn annotate(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let key = key.into();
        if self.annotations.iter().all(|(known, _)| *known != key) {
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
        event.members(self.asked.members());
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
            // Go writes maps by their keys.
            let mut sorted: Vec<_> = self.annotations.iter().collect();
            sorted.sort();
            let mut annotations = Members::begin(event.key("annotations"));
            for (key, value) in sorted {
                write_string(value.as_bytes(), annotations.foreign_key(key));
            }
            annotations.end();
        }
        event.end();
    }

    /// The event as one line of text, without its end (upstream's format of old, also used in its own log).
    pub fn legacy(&self) -> String {
        let (asker, target) = self.asked.legacy();
        let namespace = self.object.as_ref().map(ObjectReference::namespace);
        let response = self.response_status.as_ref();
        format!(
            "{} AUDIT: id={} stage={} {asker} namespace={} {target} response=\"{}\"",
            rfc3339_nano(self.received),
            Quoted(self.audit_id.as_str()),
            Quoted(self.stage.name()),
            Quoted(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("<none>")),
            response.map_or("<deferred>".to_owned(), |status| status.code.to_string()),
        )
    }
}

/// Appends an `EventList` as a line of JSON. What its items are goes without saying.
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

/// A time with as many digits of its second as it needs, as Go's `RFC3339Nano`, in UTC.
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
            write_texts(values, extra.foreign_key(key));
        }
        extra.end();
    }
    members.end();
}

impl ObjectReference {
    fn namespace(&self) -> &str {
        self.said(|info| &info.namespace, |brought| &brought.namespace)
    }

    /// What the request says, or else what its object says.
    fn said(&self, info: fn(&RequestInfo) -> &String, brought: fn(&BodyObjectMeta) -> &String) -> &str {
        let said = Some(&self.request.info).filter(|info| info.is_resource).map(info);
        let said = said.filter(|said| !said.is_empty());
        said.or_else(|| self.brought.as_deref().map(brought)).map_or("", String::as_str)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let info = Some(&self.request.info).filter(|info| info.is_resource);
        let brought = self.brought.as_deref();
        let of_info = |part: fn(&RequestInfo) -> &String| info.map_or("", |info| part(info));
        let of_object = |part: fn(&BodyObjectMeta) -> &String| brought.map_or("", |brought| part(brought));
        let mut members = Members::begin(out);
        members.text_if_any("resource", of_info(|info| &info.resource));
        members.text_if_any("namespace", self.namespace());
        members.text_if_any("name", self.said(|info| &info.name, |brought| &brought.name));
        members.text_if_any("uid", of_object(|brought| &brought.uid));
        members.text_if_any("apiGroup", of_info(|info| &info.group));
        members.text_if_any("apiVersion", of_info(|info| &info.version));
        members.text_if_any("resourceVersion", of_object(|brought| &brought.resource_version));
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
