//! Character classes.

use std::collections::BTreeMap;

use regex_syntax::hir::{Class, HirKind};

use super::character::{RegexError, character};
use super::size::Size;

/// Translator of the classes of one pattern.
pub(super) struct Classes<'a> {
    pattern: &'a str,
    /// Size of the pattern so far.
    size: Size,
    /// Known Unicode classes by their names in lower case, without separators.
    unicode: BTreeMap<String, Unicode>,
}

/// A Unicode class.
#[derive(Clone)]
struct Unicode {
    /// Name in the `regex` crate, with the property.
    name: String,
    ranges: usize,
    members: u64,
}

impl<'a> Classes<'a> {
    pub(super) fn new(pattern: &'a str) -> Self {
        Classes { pattern, size: Size::default(), unicode: BTreeMap::new() }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Adds the size of a part of the pattern.
    pub(super) fn add_size(&mut self, part: Size) -> Result<(), RegexError<'a>> {
        self.size.add(part, self.pattern)
    }

    /// Translates a bracketed class.
    pub(super) fn brackets(
        &mut self,
        text: &'a str,
        ignore_case: bool,
    ) -> Result<(String, &'a str), RegexError<'a>> {
        let mut out = "[".to_owned();
        let mut rest = &text[1..];
        if let Some(after) = rest.strip_prefix('^') {
            out.push('^');
            rest = after;
        }
        let mut items = 0;
        let mut nested = false;
        while items == 0 || !rest.starts_with(']') {
            let named = match posix(rest)? {
                Some(named) => Some(named),
                None => self.escape(rest, ignore_case)?,
            };
            if let Some((translated, after)) = named {
                self.add_size(Size::item(items, '\0', '\x7f', ignore_case))?;
                nested |= ["[", "\\p", "\\P"].iter().any(|start| translated.starts_with(start));
                out.push_str(&translated);
                rest = after;
            } else {
                let (low, high, after) = range(rest, text)?;
                self.add_size(Size::item(items, low, high, ignore_case))?;
                out.push_str(&format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high)));
                rest = after;
            }
            items += 1;
        }
        if ignore_case && nested && items > 1 {
            self.add_size(Size::mixed_fold())?;
        }
        out.push(']');
        Ok((out, &rest[1..]))
    }

    /// Translates `\d`, `\pL`, `\p{Greek}` and the like to a form that is valid inside brackets.
    pub(super) fn escape(
        &mut self,
        text: &'a str,
        ignore_case: bool,
    ) -> Result<Option<(String, &'a str)>, RegexError<'a>> {
        let Some(rest) = text.strip_prefix('\\') else { return Ok(None) };
        let Some(kind) = rest.chars().next() else { return Ok(None) };
        let after = &rest[kind.len_utf8()..];
        let perl = match kind {
            'd' => "0-9",
            'D' => "[^0-9]",
            's' => "\\t\\n\\f\\r ",
            'S' => "[^\\t\\n\\f\\r ]",
            'w' => "0-9A-Za-z_",
            'W' => "[^0-9A-Za-z_]",
            'p' | 'P' => {
                let (name, negative, after) = unicode_name(text, kind == 'P', after)?;
                let shown = &text[..text.len() - after.len()];
                let class = self.unicode(name).ok_or((INVALID_RANGE, shown))?;
                self.add_size(Size::class(class.ranges + 1, class.members, ignore_case))?;
                let sign = if negative { 'P' } else { 'p' };
                return Ok(Some((format!("\\{sign}{{{}}}", class.name), after)));
            }
            _ => return Ok(None),
        };
        Ok(Some((perl.to_owned(), after)))
    }

    /// Looks up a general category or a script; `None` for an unknown name.
    fn unicode(&mut self, name: &str) -> Option<Unicode> {
        // The crate ignores case and these separators. Other spellings of a name must not add to the map.
        let key: String = name.chars().filter(|c| !"_- ".contains(*c)).collect();
        let key = key.to_ascii_lowercase();
        if let Some(cached) = self.unicode.get(&key) {
            return Some(cached.clone());
        }
        let special = matches!(key.as_str(), "any" | "ascii" | "assigned").then(|| key.clone());
        let candidates = ["gc", "sc"].into_iter().map(|property| format!("{property}={key}")).chain(special);
        let class = candidates.into_iter().find_map(|name| Some((regex_class(&name)?, name)));
        let ((ranges, members), name) = class?;
        let class = Unicode { name, ranges, members };
        self.unicode.insert(key, class.clone());
        Some(class)
    }
}

/// Returns the numbers of ranges and of members of a Unicode class of the `regex` crate.
fn regex_class(name: &str) -> Option<(usize, u64)> {
    let parsed = regex_syntax::parse(&format!("\\p{{{name}}}")).ok()?;
    let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { return Some((1, 1)) };
    let members = class.iter().map(|range| range.len() as u64).sum();
    Some((class.ranges().len(), members))
}

const INVALID_RANGE: &str = "invalid character class range";

/// Parses a character of a class, or a range.
fn range<'a>(text: &'a str, class: &'a str) -> Result<(char, char, &'a str), RegexError<'a>> {
    let (low, after) = one(text, class)?;
    let (high, after) = match after.strip_prefix('-') {
        Some(behind) if !behind.is_empty() && !behind.starts_with(']') => one(behind, class)?,
        _ => (low, after),
    };
    if high < low {
        return Err((INVALID_RANGE, &text[..text.len() - after.len()]));
    }
    Ok((low, high, after))
}

/// Parses one character of a class.
fn one<'a>(rest: &'a str, class: &'a str) -> Result<(char, &'a str), RegexError<'a>> {
    match rest.chars().next() {
        None => Err(("missing closing ]", class)),
        Some('\\') => character(rest),
        Some(c) => Ok((c, &rest[c.len_utf8()..])),
    }
}

/// Parses the name of a Unicode class and its sign. `rest` follows the `p`.
fn unicode_name<'a>(
    text: &'a str,
    negative: bool,
    rest: &'a str,
) -> Result<(&'a str, bool, &'a str), RegexError<'a>> {
    let (name, after) = match rest.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or((INVALID_RANGE, text))?,
        None => rest.split_at(rest.chars().next().map_or(0, char::len_utf8)),
    };
    let (negative, name) = match name.strip_prefix('^') {
        Some(name) => (!negative, name),
        None => (negative, name),
    };
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte)) {
        return Err((INVALID_RANGE, &text[..text.len() - after.len()]));
    }
    Ok((name, negative, after))
}

/// Parses `[:alpha:]` and the like; `None` for other text.
fn posix(text: &str) -> Result<Option<(String, &str)>, RegexError<'_>> {
    let Some((name, rest)) = text.strip_prefix("[:").and_then(|name| name.split_once(":]")) else {
        return Ok(None);
    };
    let (negative, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let members = match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => "\\x00-\\x7F",
        "blank" => "\\t ",
        "cntrl" => "\\x00-\\x1F\\x7F",
        "digit" => "0-9",
        "graph" => "!-~",
        "lower" => "a-z",
        "print" => " -~",
        "punct" => "!-/:-@\\[-`\\{-~",
        "space" => "\\t-\\r ",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return Err((INVALID_RANGE, &text[..text.len() - rest.len()])),
    };
    let members = if negative { format!("[^{members}]") } else { members.to_owned() };
    Ok(Some((members, rest)))
}
