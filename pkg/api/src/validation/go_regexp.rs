//! Whether a text is a regular expression of Go's `regexp` (RE2 syntax with Perl's classes), and if not
//! what Go says of it.
//!
//! Names of scripts (`\p{Greek}`) are taken for valid when they look like one; sizes of compiled
//! expressions are not estimated.

use std::iter::successors;

/// The most often that something may be repeated, nested repetitions multiplied.
const REPEAT_MAX: u32 = 1000;
const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];
const CATEGORIES: &str = "Any C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps \
                          S Sc Sk Sm So Z Zl Zp Zs";

/// Checks an expression; the error says what is wrong with which part of it.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    let mut parser = Parser { whole: pattern, groups: Vec::new(), this: Group::default() };
    let (mut rest, mut last_repeat) = (pattern, None);
    while let Some(first) = rest.chars().next() {
        let before = rest;
        let mut repeats = false;
        rest = match first {
            '(' => parser.open(rest)?,
            ')' => parser.close(rest)?,
            '|' => {
                parser.this.alternative();
                after(rest)
            }
            '[' => parser.operand(class(rest)?),
            '\\' => parser.escape(rest)?,
            '*' | '+' | '?' => {
                repeats = true;
                parser.repeat(before, after(rest), None, last_repeat)?
            }
            '{' => match counts(rest) {
                None => parser.operand(after(rest)),
                Some((counts, behind)) => {
                    repeats = true;
                    parser.repeat(before, behind, Some(counts), last_repeat)?
                }
            },
            _ => parser.operand(after(rest)),
        };
        last_repeat = repeats.then_some(before);
    }
    match parser.groups.is_empty() {
        true => Ok(()),
        false => Err(wrong("missing closing )", pattern)),
    }
}

fn wrong(what: &str, part: &str) -> String {
    format!("{what}: `{part}`")
}

/// A text without its first character.
fn after(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

/// What of a text is before `rest`, its end.
fn before<'p>(text: &'p str, rest: &str) -> &'p str {
    text.get(..text.len().saturating_sub(rest.len())).unwrap_or(text)
}

/// What has been read of a group.
#[derive(Default)]
struct Group {
    /// How often at most the last operand is repeated, if there is one to repeat.
    last: Option<u32>,
    /// The same of the most often repeated one before.
    most: u32,
}

impl Group {
    fn push(&mut self, repeated: u32) {
        self.most = self.most.max(self.last.unwrap_or(0));
        self.last = Some(repeated);
    }

    fn alternative(&mut self) {
        self.push(0);
        self.last = None;
    }
}

struct Parser<'p> {
    whole: &'p str,
    groups: Vec<Group>,
    this: Group,
}

impl<'p> Parser<'p> {
    fn operand(&mut self, rest: &'p str) -> &'p str {
        self.this.push(1);
        rest
    }

    fn open(&mut self, text: &'p str) -> Result<&'p str, String> {
        let (rest, is_group) = match text.starts_with("(?") {
            true => perl_group(text)?,
            false => (after(text), true),
        };
        if is_group {
            self.groups.push(std::mem::take(&mut self.this));
        }
        Ok(rest)
    }

    fn close(&mut self, text: &'p str) -> Result<&'p str, String> {
        let outer = self.groups.pop().ok_or_else(|| wrong("unexpected )", self.whole))?;
        let inner = std::mem::replace(&mut self.this, outer);
        self.this.push(inner.most.max(inner.last.unwrap_or(0)).max(1));
        Ok(after(text))
    }

    fn escape(&mut self, text: &'p str) -> Result<&'p str, String> {
        let rest = after(text);
        match rest.chars().next() {
            Some('A' | 'b' | 'B' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W') => Ok(self.operand(after(rest))),
            Some('C') => Err(wrong("invalid escape sequence", before(text, after(rest)))),
            Some('Q') => {
                let quoted = after(rest);
                let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                if !literal.is_empty() {
                    self.this.push(1);
                }
                Ok(rest)
            }
            Some('p' | 'P') => Ok(self.operand(unicode_class(text)?)),
            _ => Ok(self.operand(escaped(text)?.1)),
        }
    }

    /// Repeats the last operand. `text` begins with the operator, `rest` behind it.
    fn repeat(
        &mut self,
        text: &'p str,
        rest: &'p str,
        counts: Option<(u32, Option<u32>)>,
        last_repeat: Option<&'p str>,
    ) -> Result<&'p str, String> {
        if let Some((min, max)) = counts
            && (min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || min > max))
        {
            return Err(wrong("invalid repeat count", before(text, rest)));
        }
        let rest = rest.strip_prefix('?').unwrap_or(rest);
        if let Some(last) = last_repeat {
            return Err(wrong("invalid nested repetition operator", before(last, rest)));
        }
        let Some(inner) = self.this.last else {
            return Err(wrong("missing argument to repetition operator", before(text, rest)));
        };
        if let Some((min, max)) = counts {
            let repeated = match max {
                Some(0) => 1,
                max => inner.saturating_mul(max.unwrap_or(min).max(1)),
            };
            if repeated > REPEAT_MAX && (min >= 2 || max.is_some_and(|max| max >= 2)) {
                return Err(wrong("invalid repeat count", before(text, rest)));
            }
            self.this.last = Some(repeated);
        }
        Ok(rest)
    }
}

/// Reads what begins with `(?`: behind it, and whether it opens a group.
fn perl_group(text: &str) -> Result<(&str, bool), String> {
    let inner = text.get(2..).unwrap_or_default();
    if let Some(named) =
        inner.strip_prefix("P<").or_else(|| inner.strip_prefix('<')).filter(|it| !it.is_empty())
    {
        let Some((name, rest)) = named.split_once('>') else {
            return Err(wrong("invalid named capture", text));
        };
        let valid = !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        return match valid {
            true => Ok((rest, true)),
            false => Err(wrong("invalid named capture", before(text, rest))),
        };
    }
    let (mut rest, mut negated, mut given) = (inner, false, false);
    while let Some(flag) = rest.chars().next() {
        rest = after(rest);
        match flag {
            'i' | 'm' | 's' | 'U' => given = true,
            '-' if !negated => (negated, given) = (true, false),
            ':' | ')' if given || !negated => return Ok((rest, flag == ':')),
            _ => break,
        }
    }
    // A name that never ends is no flag either.
    Err(wrong("invalid or unsupported Perl syntax", before(text, rest)))
}

/// Reads `{2}`, `{2,}` or `{2,3}`; anything else is literal.
fn counts(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (min, rest) = count(text.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => count(rest).map(|(max, rest)| (Some(max), rest))?,
    };
    Some(((min, max), rest.strip_prefix('}')?))
}

fn count(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

/// Reads an escaped character.
fn escaped(text: &str) -> Result<(u32, &str), String> {
    let rest = after(text);
    let Some(c) = rest.chars().next() else {
        return Err(wrong("trailing backslash at end of expression", ""));
    };
    let rest = after(rest);
    let octal = |text: &str| text.chars().next().and_then(|c| c.to_digit(8));
    let invalid = |rest: &str| wrong("invalid escape sequence", before(text, rest));
    match c {
        '1'..='7' if octal(rest).is_none() => Err(invalid(rest)),
        '0'..='7' => {
            let tails = successors(Some(rest), |rest| octal(rest).map(|_| after(rest)));
            let end = tails.take(3).last().unwrap_or(rest);
            let digits = before(text, end).trim_start_matches('\\');
            Ok((u32::from_str_radix(digits, 8).unwrap_or_default(), end))
        }
        'x' => hexadecimal(rest).map_err(invalid),
        'a' => Ok((7, rest)),
        'f' => Ok((12, rest)),
        'n' => Ok((10, rest)),
        'r' => Ok((13, rest)),
        't' => Ok((9, rest)),
        'v' => Ok((11, rest)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((u32::from(c), rest)),
        _ => Err(invalid(rest)),
    }
}

/// Reads what follows `\x`: two digits, or any number of them in braces. The error is what is behind the
/// part that is wrong.
fn hexadecimal(text: &str) -> Result<(u32, &str), &str> {
    let Some(mut rest) = text.strip_prefix('{') else {
        let end = after(after(text));
        let digits = before(text, end);
        let all = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return u32::from_str_radix(digits, 16).ok().filter(|_| all).map(|value| (value, end)).ok_or(end);
    };
    let (mut value, mut digits) = (0_u32, 0);
    while let Some(c) = rest.chars().next() {
        rest = after(rest);
        match c.to_digit(16) {
            Some(digit) => value = value.saturating_mul(16).saturating_add(digit),
            None if c == '}' && digits > 0 => return Ok((value, rest)),
            None => return Err(rest),
        }
        if value > u32::from(char::MAX) {
            return Err(rest);
        }
        digits += 1;
    }
    Err(rest)
}

/// Reads `\pL` or `\p{Greek}`.
fn unicode_class(text: &str) -> Result<&str, String> {
    let inner = after(after(text));
    let (name, rest) = match inner.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or_else(|| wrong("invalid character class range", text))?,
        None => (before(inner, after(inner)), after(inner)),
    };
    let name = name.strip_prefix('^').unwrap_or(name);
    // Case and separators do not matter.
    let plain: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    let is_script = plain.len() > 2 && plain.bytes().all(|b| b.is_ascii_alphabetic());
    let is_category = CATEGORIES.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(&plain));
    match is_script || is_category {
        true => Ok(rest),
        false => Err(wrong("invalid character class range", before(text, rest))),
    }
}

/// Reads a class in brackets.
fn class(text: &str) -> Result<&str, String> {
    let mut rest = after(text);
    rest = rest.strip_prefix('^').unwrap_or(rest);
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((name, behind)) = rest.strip_prefix("[:").and_then(|it| it.split_once(":]")) {
            if !POSIX_CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
                return Err(wrong("invalid character class range", before(rest, behind)));
            }
            rest = behind;
            continue;
        }
        let mut escape = rest.strip_prefix('\\').unwrap_or_default().chars();
        match escape.next() {
            Some('p' | 'P') => {
                rest = unicode_class(rest)?;
                continue;
            }
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                rest = escape.as_str();
                continue;
            }
            _ => {}
        }
        let range = rest;
        let (low, behind) = class_character(rest, text)?;
        rest = behind;
        let bound = rest.strip_prefix('-').filter(|bound| !bound.is_empty() && !bound.starts_with(']'));
        if let Some(bound) = bound {
            let (high, behind) = class_character(bound, text)?;
            rest = behind;
            if high < low {
                return Err(wrong("invalid character class range", before(range, rest)));
            }
        }
    }
    Ok(after(rest))
}

fn class_character<'p>(text: &'p str, class: &str) -> Result<(u32, &'p str), String> {
    match text.chars().next() {
        None => Err(wrong("missing closing ]", class)),
        Some('\\') => escaped(text),
        Some(c) => Ok((u32::from(c), after(text))),
    }
}

#[cfg(test)]
mod tests;
