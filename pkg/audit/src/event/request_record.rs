//! The request and user members of an event. They are the same for all stages, so they are encoded once.

use std::io::Write;
use std::net::IpAddr;

use apimachinery::go_quote::Quoted;
use apimachinery::user_info::UserInfo;
use jsontree::Value;

use super::{Members, write_user};

/// Maximum length of the user agent in bytes. The rest is cut off.
const USER_AGENT_BYTES_MAX: usize = 1024;
const TRUNCATED: &str = "...TRUNCATED";

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
        match user_agent.len() {
            ..=USER_AGENT_BYTES_MAX => members.text_if_any("userAgent", user_agent),
            _ => {
                let end = user_agent.floor_char_boundary(USER_AGENT_BYTES_MAX);
                let begin = user_agent.get(..end).unwrap_or_default();
                members.text("userAgent", &format!("{begin}{TRUNCATED}"));
            }
        }
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

    pub(super) fn members(&self) -> &[u8] {
        &self.json
    }

    /// The legacy format's text before and after the namespace.
    pub(super) fn legacy(&self) -> (String, String) {
        let json = [b"{", self.json.as_slice(), b"}"].concat();
        let asked: Value = serde_json::from_slice(&json).unwrap_or_default();
        let text = |pointer: &str| asked.pointer(pointer).and_then(Value::as_str);
        let groups = |pointer: &str| {
            let groups = asked.pointer(pointer).and_then(Value::as_array)?;
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
