//! Objects in events: JSON text that is inspected and edited without building a tree.

use bytes::Bytes;
use schema::json_write::compact;

use crate::ResponseStatus;

/// An object as compact JSON, regardless of its original encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content(Bytes);

impl Content {
    /// Compacts JSON. `None` if it is invalid.
    pub fn json(text: &[u8]) -> Option<Self> {
        let mut out = Vec::with_capacity(text.len());
        compact(text, &mut out).ok()?;
        Some(Content(out.into()))
    }

    /// Takes JSON without white space; it is not validated.
    pub fn from_json(json: Bytes) -> Self {
        Content(json)
    }

    /// The JSON, without white space.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn text(&self, name: &str) -> Option<String> {
        serde_json::from_slice(member(self.bytes(), name)?).ok()
    }

    /// Parses a `Status`; `None` for other objects.
    pub fn status(&self) -> Option<ResponseStatus> {
        let is_status = self.text("kind")? == "Status" && self.text("apiVersion")? == "v1";
        let text = |name: &str| self.text(name).unwrap_or_default();
        is_status.then(|| ResponseStatus {
            status: text("status"),
            message: text("message"),
            reason: text("reason"),
            details: member(self.bytes(), "details")
                .filter(|details| *details != b"null")
                .and_then(Content::json),
            code: member(self.bytes(), "code")
                .and_then(|code| serde_json::from_slice(code).ok())
                .unwrap_or_default(),
        })
    }

    /// Returns the object without `managedFields`. For lists and tables, removes them from every object.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        let mut out = Vec::with_capacity(self.0.len());
        edit(self.bytes(), &mut out, &mut |name, value, out| match name {
            "metadata" => of_metadata(value, out),
            "items" => each(value, out, &mut |item, out| of_object(item, out)),
            "rows" => each(value, out, &mut |row, out| {
                edit(row, out, &mut |name, value, out| match name {
                    "object" => of_object(value, out),
                    _ => out.extend_from_slice(value),
                });
            }),
            _ => out.extend_from_slice(value),
        });
        Content(out.into())
    }
}

fn of_object(object: &[u8], out: &mut Vec<u8>) {
    edit(object, out, &mut |name, value, out| match name {
        "metadata" => of_metadata(value, out),
        _ => out.extend_from_slice(value),
    });
}

fn of_metadata(metadata: &[u8], out: &mut Vec<u8>) {
    let Some(members) = members(metadata) else { return out.extend_from_slice(metadata) };
    out.push(b'{');
    let mut empty = true;
    for (name, value) in members.filter(|(name, _)| *name != br#""managedFields""#) {
        begin(name, &mut empty, out);
        out.extend_from_slice(value);
    }
    out.push(b'}');
}

/// Writes a member's value, given its name.
type WriteMember<'w> = &'w mut dyn FnMut(&str, &[u8], &mut Vec<u8>);

/// Copies an object and writes each member's value with `write`. Other JSON values are copied unchanged.
fn edit(json: &[u8], out: &mut Vec<u8>, write: WriteMember<'_>) {
    let Some(members) = members(json) else { return out.extend_from_slice(json) };
    out.push(b'{');
    let mut empty = true;
    for (name, value) in members {
        begin(name, &mut empty, out);
        // The names to match contain no escapes, so names with escapes never match.
        write(std::str::from_utf8(name).unwrap_or_default().trim_matches('"'), value, out);
    }
    out.push(b'}');
}

/// Copies a list and writes each item with `write`. Other JSON values are copied unchanged.
fn each(json: &[u8], out: &mut Vec<u8>, write: &mut dyn FnMut(&[u8], &mut Vec<u8>)) {
    let Some(mut rest) = json.strip_prefix(b"[") else { return out.extend_from_slice(json) };
    out.push(b'[');
    while let Some((item, behind)) = split_value(rest).filter(|(item, _)| !item.is_empty()) {
        write(item, out);
        let Some(next) = behind.strip_prefix(b",") else { break };
        out.push(b',');
        rest = next;
    }
    out.push(b']');
}

fn begin(name: &[u8], empty: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(empty) {
        out.push(b',');
    }
    out.extend_from_slice(name);
    out.push(b':');
}

fn member<'j>(json: &'j [u8], name: &str) -> Option<&'j [u8]> {
    let quoted =
        |raw: &[u8]| raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")) == Some(name.as_bytes());
    members(json)?.find_map(|(raw, value)| quoted(raw).then_some(value))
}

/// The members of an object in compact JSON, with quoted names; `None` for other values.
fn members(json: &[u8]) -> Option<impl Iterator<Item = (&[u8], &[u8])>> {
    let mut rest = json.strip_prefix(b"{")?;
    Some(std::iter::from_fn(move || {
        let (name, behind) = split_value(rest).filter(|(name, _)| name.len() > 1)?;
        let (value, behind) = split_value(behind.strip_prefix(b":")?)?;
        rest = behind.strip_prefix(b",").unwrap_or_default();
        Some((name, value))
    }))
}

/// Splits compact JSON into its first value and the rest.
fn split_value(json: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    for (at, byte) in json.iter().enumerate() {
        let behind = at.saturating_add(1);
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return json.split_at_checked(behind);
                }
            }
            _ if in_text => {}
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' if depth > 1 => depth = depth.saturating_sub(1),
            b'}' | b']' if depth == 1 => return json.split_at_checked(behind),
            b'}' | b']' | b',' | b':' if depth == 0 => return json.split_at_checked(at),
            _ => {}
        }
    }
    (depth == 0 && !in_text).then_some((json, &[]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content {
        Content::json(text.as_bytes()).unwrap()
    }

    #[test]
    fn managed_fields_are_removed_everywhere() {
        let check = |text: &str, expected: &str| {
            let got = content(text).without_managed_fields();
            assert_eq!(std::str::from_utf8(got.bytes()).unwrap(), expected);
        };
        check("{}", "{}");
        check("[1]", "[1]");
        check(r#"{"metadata":null,"items":null}"#, r#"{"metadata":null,"items":null}"#);
        check(
            r#"{"kind":"A","metadata":{"managedFields":[{"a":"}]"}],"name":"x"},"spec":{"managedFields":1}}"#,
            r#"{"kind":"A","metadata":{"name":"x"},"spec":{"managedFields":1}}"#,
        );
        check(
            r#"{"metadata":{"name":"\"{","managedFields":[]},"items":[{"metadata":{"managedFields":[1]}},{},2]}"#,
            r#"{"metadata":{"name":"\"{"},"items":[{"metadata":{}},{},2]}"#,
        );
        check(
            r#"{"rows":[{"cells":["a",1],"object":{"metadata":{"uid":"u","managedFields":[]}}}],"x":[]}"#,
            r#"{"rows":[{"cells":["a",1],"object":{"metadata":{"uid":"u"}}}],"x":[]}"#,
        );
    }

    #[test]
    fn status_is_recognized_by_kind() {
        let text = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}"#;
        let status = content(text).status().unwrap();
        assert_eq!((status.status.as_str(), status.message.as_str(), status.code), ("Failure", "no", 404));
        assert_eq!(status.details, Content::json(br#"{"name":"a","kind":"pods"}"#));
        assert_eq!(content(&text.replace("Status", "Pod")).status(), None);
        assert_eq!(content("{}").status(), None);
    }
}
