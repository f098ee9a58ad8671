//! What is recorded of a request (`audit.k8s.io/v1`, kind `Event`), and how it is written: members in the order of
//! upstream's Go struct, texts as Go's JSON writes them.

use std::fmt::Display;
use std::io::Write;
use std::net::IpAddr;

use apimachinery::go_quote::Quoted;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use schema::json_write::write_string;

use crate::{Content, Level, Stage};

/// Longest name that a client may give itself, in bytes. The rest is left out.
const USER_AGENT_BYTES_MAX: usize = 1024;
const API_VERSION: &str = "audit.k8s.io/v1";
const TRUNCATED: &str = "...TRUNCATED";

/// A record of a request at one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// How much is recorded.
    pub level: Level,
    /// The id of the request.
    pub audit_id: String,
    /// When in its life.
    pub stage: Stage,
    /// Path and query, as the client sent them.
    pub request_uri: String,
    /// What it wants to do.
    pub verb: String,
    /// Who sent it; `None` if nobody knows.
    pub user: Option<UserInfo>,
    /// Whom it is carried out for, if that is somebody else.
    pub impersonated_user: Option<UserInfo>,
    /// By what right that is; empty for the old one.
    pub impersonation_constraint: &'static str,
    /// Where it came from, first the client.
    pub source_addresses: Vec<IpAddr>,
    /// What the client calls itself.
    pub user_agent: String,
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
    pub annotations: Vec<(String, String)>,
}

/// What a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectReference {
    /// Plural resource.
    pub resource: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// API group, empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Resource version.
    pub resource_version: String,
    /// Subresource.
    pub subresource: String,
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

    /// A text in which nothing has to be escaped.
    fn plain(&mut self, name: &'static str, value: impl Display) {
        // Writing to memory does not fail.
        let _ = write!(self.key(name), "\"{value}\"");
    }

    fn text_if_any(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
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
    /// What a client calls itself, as far as it is recorded.
    pub fn user_agent(text: &str) -> String {
        if text.len() <= USER_AGENT_BYTES_MAX {
            return text.to_owned();
        }
        let end = text.floor_char_boundary(USER_AGENT_BYTES_MAX);
        format!("{}{TRUNCATED}", text.get(..end).unwrap_or_default())
    }

    /// About how much memory it takes, in bytes: its objects and something for the rest.
    pub fn weight(&self) -> usize {
        const REST: usize = 2 * 1024;
        let objects = [&self.request_object, &self.response_object];
        let objects = objects.into_iter().flatten().map(|object| object.bytes().len());
        let annotations = self.annotations.iter().map(|(key, value)| key.len() + value.len());
        objects.chain(annotations).fold(REST, usize::saturating_add)
    }

    /// Sets an annotation. The first value of a key stays.
    pub fn annotate(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let key = key.into();
        if self.annotations.iter().all(|(known, _)| *known != key) {
            self.annotations.push((key, value.into()));
        }
    }

    /// Appends the event as a line of JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut event = Members::begin(out);
        event.text("kind", "Event");
        event.text("apiVersion", API_VERSION);
        self.write_members(event);
        out.push(b'\n');
    }

    fn write_members(&self, mut event: Members<'_>) {
        event.text("level", self.level.name());
        event.text("auditID", &self.audit_id);
        event.text("stage", self.stage.name());
        event.text("requestURI", &self.request_uri);
        event.text("verb", &self.verb);
        let nobody = UserInfo::default();
        write_user(self.user.as_ref().unwrap_or(&nobody), event.key("user"));
        if let Some(user) = &self.impersonated_user {
            write_user(user, event.key("impersonatedUser"));
        }
        if !self.impersonation_constraint.is_empty() {
            let mut metadata = Members::begin(event.key("authenticationMetadata"));
            metadata.text("impersonationConstraint", self.impersonation_constraint);
            metadata.end();
        }
        if let Some((first, others)) = self.source_addresses.split_first() {
            let addresses = event.key("sourceIPs");
            let _ = write!(addresses, "[\"{first}\"");
            others.iter().for_each(|other| _ = write!(addresses, ",\"{other}\""));
            addresses.push(b']');
        }
        event.text_if_any("userAgent", &self.user_agent);
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
        event.plain("requestReceivedTimestamp", self.received.rfc3339_micro());
        event.plain("stageTimestamp", self.stage_time.rfc3339_micro());
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
        let quoted = |texts: &[String]| {
            texts.iter().map(|text| Quoted(text).to_string()).collect::<Vec<_>>().join(",")
        };
        let user = self.user.as_ref().filter(|user| !user.name.is_empty());
        let groups = user.filter(|user| !user.groups.is_empty()).map(|user| quoted(&user.groups));
        let (mut as_user, mut as_groups) = ("<self>", "<lookup>".to_owned());
        if let Some(actor) = &self.impersonated_user {
            as_user = &actor.name;
            if !actor.groups.is_empty() {
                as_groups = quoted(&actor.groups);
            }
        }
        let namespace = self.object.as_ref().map(|object| object.namespace.as_str());
        let address = self.source_addresses.first().map_or("<unknown>".to_owned(), IpAddr::to_string);
        let response = self.response_status.as_ref();
        format!(
            "{} AUDIT: id={} stage={} ip={} method={} user={} groups={} as={} asgroups={} user-agent={} \
             namespace={} uri={} response=\"{}\"",
            rfc3339_nano(self.received),
            Quoted(&self.audit_id),
            Quoted(self.stage.name()),
            Quoted(&address),
            Quoted(&self.verb),
            Quoted(user.map_or("<none>", |user| &user.name)),
            Quoted(groups.as_deref().unwrap_or("<none>")),
            Quoted(as_user),
            Quoted(&as_groups),
            Quoted(&self.user_agent),
            Quoted(namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("<none>")),
            Quoted(&self.request_uri),
            response.map_or("<deferred>".to_owned(), |status| status.code.to_string()),
        )
    }
}

/// Appends an `EventList` as a line of JSON. What its items are goes without saying.
pub fn write_list(events: &[Event], out: &mut Vec<u8>) {
    let mut list = Members::begin(out);
    list.text("kind", "EventList");
    list.text("apiVersion", API_VERSION);
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
    fn write(&self, out: &mut Vec<u8>) {
        let mut members = Members::begin(out);
        members.text_if_any("resource", &self.resource);
        members.text_if_any("namespace", &self.namespace);
        members.text_if_any("name", &self.name);
        members.text_if_any("uid", &self.uid);
        members.text_if_any("apiGroup", &self.group);
        members.text_if_any("apiVersion", &self.version);
        members.text_if_any("resourceVersion", &self.resource_version);
        members.text_if_any("subresource", &self.subresource);
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
