//! Converts nodes to JSON text: resolves scalars, converts keys to strings, and expands merges and aliases.

use std::collections::BTreeMap;
use std::vec;

use apimachinery::go_number::general;
use apimachinery::go_quote::quote;

use super::parse::{Document, Id, Kind};
use super::resolve::{self, Scalar};
use super::{Error, YamlJson};
use crate::json;
use crate::json_write::{write_double, write_string};

/// Maximum size of an expanded document with aliases: a multiple of its text, and an absolute number of
/// bytes. Upstream bounds only the number of nodes from aliases, not their size. Memory is determined by the
/// JSON, which is decoded next.
const GROWTH_MAX: usize = 4;
const GROWTH_BYTES: usize = 1 << 20;

/// Maximum size of a quoted text in errors, in nodes and bytes, because aliases can repeat it without end.
const QUOTED_MAX: usize = 64 * 1024;

const MERGE_DEPTH_MAX: usize = 100;

pub(super) fn json(document: &Document<'_>) -> Result<YamlJson, Error> {
    let mut builder = Builder {
        document,
        out: Vec::new(),
        duplicates: Vec::new(),
        open: Vec::new(),
        expanding: vec![false; document.len()],
        visits: 0,
        alias_visits: 0,
        alias_depth: 0,
        duplicates_len: 0,
        length_max: document.text_len().saturating_mul(GROWTH_MAX).saturating_add(GROWTH_BYTES),
    };
    match document.root() {
        Some(root) => builder.run(root)?,
        None => builder.out.extend_from_slice(b"null"),
    }
    builder.duplicates.sort_by_key(|&(line, _)| line);
    let duplicates = builder.duplicates.into_iter().map(|(_, text)| text).collect();
    Ok(YamlJson { json: builder.out, duplicates })
}

struct Builder<'a> {
    document: &'a Document<'a>,
    out: Vec<u8>,
    /// Line and text.
    duplicates: Vec<(usize, String)>,
    open: Vec<Open>,
    /// The aliases that are being expanded.
    expanding: Vec<bool>,
    visits: usize,
    alias_visits: usize,
    alias_depth: usize,
    /// Number of bytes in `duplicates`.
    duplicates_len: usize,
    /// Maximum size of the result for a document with aliases, in bytes.
    length_max: usize,
}

/// A collection whose rest must be written, or an alias that ends after its target.
enum Open {
    List(vec::IntoIter<Id>),
    Map(vec::IntoIter<(String, Id)>),
    Alias(Id),
}

impl Builder<'_> {
    fn run(&mut self, root: Id) -> Result<(), Error> {
        self.value(root)?;
        while let Some(open) = self.open.last_mut() {
            let (next, close) = match open {
                Open::List(items) => (items.next().map(|id| (None, id)), &b"]"[..]),
                Open::Map(entries) => (entries.next().map(|(key, id)| (Some(key), id)), &b"}"[..]),
                Open::Alias(alias) => {
                    let alias = *alias;
                    self.leave(alias);
                    self.open.pop();
                    continue;
                }
            };
            match next {
                None => {
                    self.out.extend_from_slice(close);
                    self.open.pop();
                }
                Some((key, id)) => {
                    if !matches!(self.out.last(), Some(b'[' | b'{')) {
                        self.out.push(b',');
                    }
                    if let Some(key) = key {
                        write_string(key.as_bytes(), &mut self.out);
                        self.out.push(b':');
                    }
                    self.value(id)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a scalar, or opens a collection.
    fn value(&mut self, id: Id) -> Result<(), Error> {
        self.visit()?;
        let document = self.document;
        match document.node(id).map(|node| &node.kind) {
            None => self.out.extend_from_slice(b"null"),
            Some(Kind::Scalar { value, plain, tag }) => self.scalar(value, *plain, tag)?,
            Some(Kind::List(items)) => {
                self.out.push(b'[');
                self.open.push(Open::List(items.clone().into_iter()));
            }
            Some(Kind::Map(_)) => {
                let mut entries = Entries::new();
                self.entries(id, &mut entries, 0)?;
                let sorted: BTreeMap<String, Id> = entries.into_values().collect();
                let sorted: Vec<(String, Id)> = sorted.into_iter().collect();
                self.out.push(b'{');
                self.open.push(Open::Map(sorted.into_iter()));
            }
            Some(Kind::Alias { target, at }) => {
                self.enter(id, *at)?;
                self.open.push(Open::Alias(id));
                self.value(*target)?;
            }
        }
        Ok(())
    }

    fn scalar(&mut self, value: &str, plain: bool, tag: &str) -> Result<(), Error> {
        match resolve::scalar(value, plain, tag)? {
            Scalar::Text | Scalar::Timestamp if tag == "!!binary" => {
                let decoded = json::base64::decode(value.as_bytes());
                let bytes =
                    decoded.map_err(|_| Error::text("yaml: !!binary value contains invalid base64 data"))?;
                write_string(&bytes, &mut self.out);
                Ok(())
            }
            scalar => write_scalar(scalar, value, &mut self.out),
        }
    }

    /// Collects the entries of a map in order of precedence.
    fn entries(&mut self, map: Id, entries: &mut Entries, depth: usize) -> Result<(), Error> {
        let document = self.document;
        let Some(Kind::Map(pairs)) = document.node(map).map(|node| &node.kind) else { return Ok(()) };
        for &(key, value) in pairs {
            if is_merge(document, key) {
                self.merge(value, entries, depth)?;
                continue;
            }
            self.visit()?;
            let key = key_of(document, key, value)?;
            let line = document.node(value).map_or(0, |node| node.line);
            if entries.contains_key(&key.go_syntax) {
                let text = format!("line {line}: key {} already set in map", key.go_syntax);
                self.duplicates_len = self.duplicates_len.saturating_add(text.len());
                self.duplicates.push((line, text));
            }
            entries.insert(key.go_syntax, (key.name, value));
        }
        Ok(())
    }

    /// Expands `<<`; in a list of maps, the first ones win.
    fn merge(&mut self, value: Id, entries: &mut Entries, depth: usize) -> Result<(), Error> {
        if depth > MERGE_DEPTH_MAX {
            return Err(Error::text("yaml: document contains excessive aliasing"));
        }
        let document = self.document;
        match document.node(value).map(|node| &node.kind) {
            Some(Kind::List(maps)) => {
                for &map in maps.iter().rev() {
                    self.merge_map(map, entries, depth)?;
                }
                Ok(())
            }
            _ => self.merge_map(value, entries, depth),
        }
    }

    fn merge_map(&mut self, map: Id, entries: &mut Entries, depth: usize) -> Result<(), Error> {
        self.visit()?;
        let document = self.document;
        let is_map = |id| matches!(document.node(id).map(|node| &node.kind), Some(Kind::Map(_)));
        match document.node(map).map(|node| &node.kind) {
            Some(Kind::Map(_)) => self.entries(map, entries, depth + 1),
            Some(&Kind::Alias { target, at }) if is_map(target) => {
                self.enter(map, at)?;
                self.visit()?;
                self.entries(target, entries, depth + 1)?;
                self.leave(map);
                Ok(())
            }
            _ => Err(Error::text("yaml: map merge requires map or sequence of maps as the value")),
        }
    }

    fn enter(&mut self, alias: Id, at: usize) -> Result<(), Error> {
        match self.expanding.get_mut(alias) {
            Some(expanding) if !*expanding => *expanding = true,
            _ => {
                let name = self.document.anchor_name(at);
                return Err(Error::Text(format!("yaml: anchor '{name}' value contains itself")));
            }
        }
        self.alias_depth += 1;
        Ok(())
    }

    fn leave(&mut self, alias: Id) {
        if let Some(expanding) = self.expanding.get_mut(alias) {
            *expanding = false;
        }
        self.alias_depth -= 1;
    }

    /// Counts a node, and fails if most of a large document comes from aliases.
    fn visit(&mut self) -> Result<(), Error> {
        self.visits += 1;
        self.alias_visits += usize::from(self.alias_depth > 0);
        let ratio = self.alias_visits as f64 / self.visits as f64;
        let is_excessive =
            self.alias_visits > 100 && self.visits > 1000 && ratio > alias_ratio_max(self.visits);
        let long = self.out.len().saturating_add(self.duplicates_len) > self.length_max;
        if is_excessive || (long && self.alias_visits > 0) {
            return Err(Error::text("yaml: document contains excessive aliasing"));
        }
        Ok(())
    }
}

/// Appends a scalar with the source `text` as JSON.
///
/// # Errors
/// Numbers that JSON does not support.
pub(super) fn write_scalar(scalar: Scalar, text: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    match scalar {
        Scalar::Null => out.extend_from_slice(b"null"),
        Scalar::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Scalar::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Scalar::Uint(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Scalar::Float(value) => {
            let result = write_double(value, out);
            result.map_err(|_| Error::Text(format!("json: unsupported value: {}", go_infinity(value))))?;
        }
        Scalar::Text | Scalar::Timestamp => write_string(text.as_bytes(), out),
    }
    Ok(())
}

/// Maximum share of a document that may come from aliases: nearly all of a small one, a tenth of a large one.
fn alias_ratio_max(visits: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let along = ((visits as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    0.99 - 0.89 * along
}

/// The entries of a map by their key in Go, where `5` and `"5"` differ; with the JSON name.
type Entries = BTreeMap<String, (String, Id)>;

struct Key {
    /// As formatted by `%#v`.
    go_syntax: String,
    name: String,
}

fn is_merge(document: &Document<'_>, key: Id) -> bool {
    match document.node(key).map(|node| &node.kind) {
        Some(Kind::Scalar { value, plain, tag }) => {
            value == "<<" && (*plain && tag.is_empty() || tag == "!!merge")
        }
        _ => false,
    }
}

fn key_of(document: &Document<'_>, key: Id, value: Id) -> Result<Key, Error> {
    let key = match document.node(key).map(|node| &node.kind) {
        Some(&Kind::Alias { target, .. }) => target,
        _ => key,
    };
    let Some(Kind::Scalar { value: text, plain, tag }) = document.node(key).map(|node| &node.kind) else {
        let culprit = innermost_collection_key(document, key);
        return Err(Error::Text(format!("yaml: invalid map key: {}", go_syntax(document, culprit))));
    };
    let scalar = resolve::scalar(text, *plain, tag)?;
    let name = match scalar {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        // The library converts keys to single precision.
        Scalar::Float(value) if value.is_finite() => general(f64::from(value as f32)),
        Scalar::Float(value) if value.is_nan() => ".nan".to_owned(),
        Scalar::Float(value) => if value > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        Scalar::Null | Scalar::Uint(_) => {
            let (go_type, key) = match scalar {
                Scalar::Uint(value) => ("uint64", format!("{value:#x}")),
                _ => ("%!s(<nil>)", "<nil>".to_owned()),
            };
            let value = go_syntax(document, value);
            return Err(Error::Text(format!(
                "unsupported map key of type: {go_type}, key: {key}, value: {value}"
            )));
        }
        Scalar::Text | Scalar::Timestamp => text.clone().into_owned(),
    };
    Ok(Key { go_syntax: go_scalar(scalar, text), name })
}

/// A map that is a key may itself have a map as its first key; upstream reports the innermost one.
fn innermost_collection_key(document: &Document<'_>, mut key: Id) -> Id {
    for _ in 0..document.len() {
        let Some(Kind::Map(pairs)) = document.node(key).map(|node| &node.kind) else { break };
        let Some(&(first, _)) = pairs.first() else { break };
        match document.node(first).map(|node| &node.kind) {
            Some(Kind::Map(_) | Kind::List(_)) => key = first,
            _ => break,
        }
    }
    key
}

/// A node as formatted by Go's `%#v`.
fn go_syntax(document: &Document<'_>, id: Id) -> String {
    go_syntax_within(document, id, 0, &mut 0)
}

/// The same at a depth, with the number of nodes and bytes printed so far.
fn go_syntax_within(document: &Document<'_>, id: Id, depth: usize, printed: &mut usize) -> String {
    const DEPTH_SHOWN: usize = 20;
    *printed += 1;
    if *printed > QUOTED_MAX {
        return "...".to_owned();
    }
    let mut item = |id: Id| match go_syntax_within(document, id, depth + 1, printed) {
        nil if nil == "<nil>" => "interface {}(nil)".to_owned(),
        other => other,
    };
    match document.node(id).map(|node| &node.kind) {
        _ if depth > DEPTH_SHOWN => "...".to_owned(),
        None => "<nil>".to_owned(),
        Some(&Kind::Alias { target, .. }) => go_syntax_within(document, target, depth + 1, printed),
        Some(Kind::Scalar { value, plain, tag }) => {
            *printed += value.len();
            go_scalar(resolve::scalar(value, *plain, tag).unwrap_or(Scalar::Text), value)
        }
        Some(Kind::List(items)) => {
            let items: Vec<String> = items.iter().map(|&id| item(id)).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Some(Kind::Map(pairs)) => {
            let pairs: BTreeMap<String, String> =
                pairs.iter().map(|&(key, value)| (item(key), item(value))).collect();
            let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", pairs.join(", "))
        }
    }
}

fn go_scalar(scalar: Scalar, text: &str) -> String {
    match scalar {
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => format!("{value:#x}"),
        Scalar::Float(value) if value.is_finite() => general(value),
        Scalar::Float(value) => go_infinity(value).to_owned(),
        Scalar::Text | Scalar::Timestamp => quote(text),
    }
}

fn go_infinity(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "+Inf",
        _ => "-Inf",
    }
}
