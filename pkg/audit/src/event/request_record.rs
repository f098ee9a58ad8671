//! The request and user members of an event. They are the same for all stages, so they are encoded once.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;

use apimachinery::go_quote::Quoted;
use apimachinery::user_info::UserInfo;
use jsontree::Value;

use super::{Members, write_user};

/// Maximum lengths in bytes, as encoded, in a [shortened](RequestRecord::shorten) record.
const URI_BYTES: usize = 512;
const USER_AGENT_BYTES: usize = 256;
const NAME_BYTES: usize = 256;
const UID_BYTES: usize = 64;
const GROUPS_BYTES: usize = 256;
const EXTRA_BYTES: usize = 256;
/// Maximum number of addresses in a shortened record.
const ADDRESSES: usize = 16;

/// The encoded members from `requestURI` to `userAgent`.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    json: Vec<u8>,
    /// End of the member `user` in `json`.
    user_end: usize,
}

impl RequestRecord {
    /// Encodes a request. `uri` is the path and query as sent by the client. `user` is `None` before
    /// authentication. The first of `addresses` is the client.
    pub fn new(
        uri: &str,
        verb: &str,
        user: Option<&UserInfo>,
        mut addresses: impl Iterator<Item = IpAddr>,
        user_agent: &str,
    ) -> Self {
        let mut json = Vec::with_capacity(512);
        let mut members = Members { out: &mut json, empty: true };
        members.text("requestURI", uri);
        members.text("verb", verb);
        let nobody = UserInfo::default();
        write_user(user.unwrap_or(&nobody), members.key("user"));
        let user_end = members.out.len();
        if let Some(first) = addresses.next() {
            let out = members.key("sourceIPs");
            // Writing to memory cannot fail.
            let _ = write!(out, "[\"{first}\"");
            addresses.for_each(|other| _ = write!(out, ",\"{other}\""));
            out.push(b']');
        }
        members.text_if_any("userAgent", user_agent);
        RequestRecord { json, user_end }
    }

    /// Adds the impersonated user. `constraint` is the verb of constrained impersonation, empty for classic
    /// impersonation.
    pub fn impersonated(&mut self, user: &UserInfo, constraint: &str) {
        let mut more = Vec::new();
        let mut members = Members { out: &mut more, empty: false };
        write_user(user, members.key("impersonatedUser"));
        if !constraint.is_empty() {
            let mut metadata = Members::begin(members.key("authenticationMetadata"));
            metadata.text("impersonationConstraint", constraint);
            metadata.end();
        }
        self.json.splice(self.user_end..self.user_end, more);
    }

    /// Shortens a record that is longer than `bytes_max` to about three kilobytes. The start of each text and the last
    /// addresses remain. Returns true if something was cut.
    pub fn shorten(&mut self, bytes_max: usize) -> bool {
        if self.json.len() <= bytes_max {
            self.json.shrink_to_fit();
            return false;
        }
        let json = [b"{", self.json.as_slice(), b"}"].concat();
        let full: Value = serde_json::from_slice(&json).unwrap_or_default();
        let text = |name: &str| full.get(name).and_then(Value::as_str).unwrap_or_default();
        let list = full.get("sourceIPs").and_then(Value::as_array);
        let addresses =
            list.map_or(&[][..], |list| list.get(list.len().saturating_sub(ADDRESSES)..).unwrap_or_default());
        let mut short = RequestRecord::new(
            fitting(text("requestURI"), URI_BYTES),
            text("verb"),
            full.get("user").map(shortened_user).as_ref(),
            addresses.iter().filter_map(|address| address.as_str()?.parse().ok()),
            fitting(text("userAgent"), USER_AGENT_BYTES),
        );
        if let Some(user) = full.get("impersonatedUser") {
            let constraint = full.pointer("/authenticationMetadata/impersonationConstraint");
            short.impersonated(&shortened_user(user), constraint.and_then(Value::as_str).unwrap_or_default());
        }
        short.json.shrink_to_fit();
        *self = short;
        true
    }

    pub(super) fn members(&self) -> &[u8] {
        &self.json
    }

    /// The legacy format's text before and after the namespace.
    pub(super) fn legacy(&self) -> (String, String) {
        let json = [b"{", self.json.as_slice(), b"}"].concat();
        let record: Value = serde_json::from_slice(&json).unwrap_or_default();
        let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
        let groups = |pointer: &str| {
            let groups = record.pointer(pointer).and_then(Value::as_array)?;
            let quoted = groups.iter().filter_map(Value::as_str).map(|group| Quoted(group).to_string());
            Some(quoted.collect::<Vec<_>>().join(","))
        };
        let user = text("/user/username");
        let user_groups = user.and_then(|_| groups("/user/groups"));
        let before = format!(
            "ip={} method={} user={} groups={} as={} asgroups={} user-agent={}",
            Quoted(text("/sourceIPs/0").unwrap_or("<unknown>")),
            Quoted(text("/verb").unwrap_or_default()),
            Quoted(user.unwrap_or("<none>")),
            Quoted(user_groups.as_deref().unwrap_or("<none>")),
            Quoted(text("/impersonatedUser/username").unwrap_or("<self>")),
            Quoted(groups("/impersonatedUser/groups").as_deref().unwrap_or("<lookup>")),
            Quoted(text("/userAgent").unwrap_or_default()),
        );
        (before, format!("uri={}", Quoted(text("/requestURI").unwrap_or_default())))
    }
}

/// Returns the start of a text whose encoding has at most `bytes_max` bytes.
fn fitting(text: &str, bytes_max: usize) -> &str {
    let mut remaining = bytes_max;
    let end = text.char_indices().find_map(|(at, c)| {
        // Go escapes some characters as `\u0000`.
        let bytes = if c.is_control() || matches!(c, '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
            6
        } else {
            c.len_utf8()
        };
        match remaining.checked_sub(bytes) {
            Some(rest) => {
                remaining = rest;
                None
            }
            None => Some(at),
        }
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the first texts that fit, with two bytes of quotes and a comma each.
fn fitting_texts(list: &Value, remaining: &mut usize) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut fitting_list = Vec::new();
    for text in texts {
        if *remaining < 3 {
            break;
        }
        *remaining = remaining.saturating_sub(3);
        let head = fitting(text, *remaining);
        *remaining = remaining.saturating_sub(head.len());
        fitting_list.push(head.to_owned());
    }
    fitting_list
}

fn shortened_user(user: &Value) -> UserInfo {
    let text = |name: &str| user.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut extra_left = EXTRA_BYTES;
    let mut extra = BTreeMap::new();
    for (key, values) in user.get("extra").and_then(Value::as_object).into_iter().flatten() {
        let Some(remaining) = extra_left.checked_sub(key.len().saturating_add(6)) else { break };
        extra_left = remaining;
        extra.insert(fitting(key, EXTRA_BYTES).to_owned(), fitting_texts(values, &mut extra_left));
    }
    UserInfo {
        name: fitting(text("username"), NAME_BYTES).to_owned(),
        uid: fitting(text("uid"), UID_BYTES).to_owned(),
        groups: user
            .get("groups")
            .map(|groups| fitting_texts(groups, &mut { GROUPS_BYTES }))
            .unwrap_or_default(),
        extra,
    }
}
