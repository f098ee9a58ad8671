//! Translates a Go pattern for the `regex` crate. The structure stays the same; every character and class is
//! spelled out.

use super::character::{RegexError, character};
use super::class::Classes;
use super::size::Size;

/// Maximum nesting of groups.
const MAX_DEPTH: usize = 1000;
/// Maximum repetition count, including the product of nested repetitions.
const MAX_REPEAT: u32 = 1000;
/// Maximum number of items in a translated directive: three flags and a sign.
const FLAGS: usize = 4;

/// A pattern for the `regex` crate.
pub(super) struct Translation {
    pub(super) text: String,
    /// Size of the tree that a parser builds for the text.
    pub(super) size: Size,
}

pub(super) fn translate(pattern: &str) -> Result<Translation, RegexError<'_>> {
    let mut translator = Translator {
        pattern,
        out: String::with_capacity(pattern.len() + 16),
        classes: Classes::new(pattern),
        groups: vec![Group::default()],
    };
    let mut rest = pattern;
    let mut last_repeat = None;
    while !rest.is_empty() {
        (rest, last_repeat) = translator.step(rest, last_repeat)?;
    }
    match translator.groups.len() {
        1 => Ok(Translation { text: translator.out, size: translator.classes.size() }),
        _ => Err(("missing closing )", pattern)),
    }
}

/// An open group.
#[derive(Clone, Copy, Default)]
struct Group {
    flags: Flags,
    /// End of the element that a repetition applies to, and its current repetition count.
    atom: Option<(usize, u32)>,
    /// Maximum repetition count of the group's parts.
    repeats: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_newline: bool,
    ungreedy: bool,
}

impl Flags {
    /// Formats a directive that sets every flag except greediness, which each repetition sets itself.
    fn directive(self) -> String {
        let all = [(self.ignore_case, 'i'), (self.multi_line, 'm'), (self.dot_newline, 's')];
        let chosen = |enabled: bool| all.iter().filter(move |(on, _)| *on == enabled).map(|(_, flag)| *flag);
        let on: String = chosen(true).collect();
        let off: String = chosen(false).collect();
        if off.is_empty() { format!("?{on}") } else { format!("?{on}-{off}") }
    }
}

struct Translator<'a> {
    pattern: &'a str,
    out: String,
    classes: Classes<'a>,
    /// The whole pattern and its open groups, the innermost last; never empty.
    groups: Vec<Group>,
}

/// The rest of the text, and the start of the repetition that was just parsed.
type Step<'a> = (&'a str, Option<&'a str>);

impl<'a> Translator<'a> {
    /// Translates one element.
    fn step(&mut self, text: &'a str, last_repeat: Option<&'a str>) -> Result<Step<'a>, RegexError<'a>> {
        let Some(first) = text.chars().next() else { return Ok((text, None)) };
        let after = &text[first.len_utf8()..];
        self.classes.add_size(Size::nodes(1))?;
        let ignore_case = self.group().flags.ignore_case;
        let rest = match first {
            '(' if after.starts_with('?') => self.flags_or_group(text)?,
            '(' => {
                self.open("(")?;
                after
            }
            '|' => {
                self.out.push('|');
                self.group().atom = None;
                after
            }
            ')' => {
                self.close()?;
                after
            }
            '^' | '$' | '.' => {
                self.atom(&first.to_string());
                after
            }
            '[' => {
                let (translated, rest) = self.classes.brackets(text, ignore_case)?;
                self.atom(&translated);
                rest
            }
            '*' | '+' | '?' => {
                let rest = self.repeat(text, after, &first.to_string(), 1, last_repeat)?;
                return Ok((rest, Some(text)));
            }
            '{' => match counts(text) {
                Some((least, most, rest)) => {
                    let rest = self.repeat_counted(text, (least, most, rest), last_repeat)?;
                    return Ok((rest, Some(text)));
                }
                None => {
                    self.literal('{');
                    after
                }
            },
            '\\' => self.escape(text, ignore_case)?,
            c => {
                self.literal(c);
                after
            }
        };
        Ok((rest, None))
    }

    fn group(&mut self) -> &mut Group {
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn atom(&mut self, translated: &str) {
        self.out.push_str(translated);
        self.group().atom = Some((self.out.len(), 1));
    }

    fn literal(&mut self, c: char) {
        let escaped = regex::escape(c.encode_utf8(&mut [0; 4]));
        self.atom(&escaped);
    }

    fn open(&mut self, opening: &str) -> Result<(), RegexError<'a>> {
        if self.groups.len() > MAX_DEPTH {
            return Err(("expression nests too deeply", self.pattern));
        }
        self.out.push_str(opening);
        let flags = self.group().flags;
        self.groups.push(Group { flags, ..Group::default() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), RegexError<'a>> {
        if self.groups.len() == 1 {
            return Err(("unexpected )", self.pattern));
        }
        let closed = self.groups.pop().unwrap_or_default();
        self.out.push(')');
        let repeats = closed.repeats.max(1);
        let end = self.out.len();
        let group = self.group();
        group.atom = Some((end, repeats));
        group.repeats = group.repeats.max(repeats);
        Ok(())
    }

    /// Repeats the last element. `after` is the text after the operator, `before` the text starting with it.
    fn repeat(
        &mut self,
        before: &'a str,
        after: &'a str,
        operator: &str,
        times: u32,
        last_repeat: Option<&'a str>,
    ) -> Result<&'a str, RegexError<'a>> {
        let lazy = after.strip_prefix('?');
        let rest = lazy.unwrap_or(after);
        if let Some(last) = last_repeat {
            return Err(("invalid nested repetition operator", &last[..last.len() - rest.len()]));
        }
        let Some((end, repeats)) = self.group().atom else {
            return Err(("missing argument to repetition operator", &before[..before.len() - rest.len()]));
        };
        let total = repeats.saturating_mul(times.max(1));
        if times > 1 && total > MAX_REPEAT {
            return Err(("invalid repeat count", &before[..before.len() - rest.len()]));
        }
        // Flag directives can stand between the repeated element and the operator.
        let lazy = lazy.is_some() != self.group().flags.ungreedy;
        let operator = if lazy { format!("{operator}?") } else { operator.to_owned() };
        self.out.insert_str(end, &operator);
        let group = self.group();
        group.atom = Some((end + operator.len(), total));
        group.repeats = group.repeats.max(total);
        Ok(rest)
    }

    fn repeat_counted(
        &mut self,
        text: &'a str,
        (least, most, rest): Counts<'a>,
        last_repeat: Option<&'a str>,
    ) -> Result<&'a str, RegexError<'a>> {
        let too_many = least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least);
        if too_many {
            return Err(("invalid repeat count", &text[..text.len() - rest.len()]));
        }
        let operator = match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        self.repeat(text, rest, &operator, most.unwrap_or(least), last_repeat)
    }

    /// Parses text that starts with `(?`: a named group, flags, or a non-capturing group.
    fn flags_or_group(&mut self, text: &'a str) -> Result<&'a str, RegexError<'a>> {
        if let Some(named) = text.strip_prefix("(?P<").or_else(|| text.strip_prefix("(?<")) {
            let Some(end) = named.find('>') else { return Err(("invalid named capture", text)) };
            let name = &named[..end];
            let rest = &named[end + 1..];
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(is_word) {
                return Err(("invalid named capture", &text[..text.len() - rest.len()]));
            }
            self.open("(")?;
            return Ok(rest);
        }
        self.classes.add_size(Size::nodes(FLAGS))?;
        let mut flags = self.group().flags;
        let mut on = true;
        let mut saw_flag = false;
        for (at, c) in text.char_indices().skip(2) {
            let rest = &text[at + c.len_utf8()..];
            match c {
                'i' => flags.ignore_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_newline = on,
                'U' => flags.ungreedy = on,
                '-' if on => on = false,
                ':' | ')' if on || saw_flag => {
                    if c == ':' {
                        self.open(&format!("({}:", flags.directive()))?;
                    } else {
                        self.out.push_str(&format!("({})", flags.directive()));
                    }
                    self.group().flags = flags;
                    return Ok(rest);
                }
                _ => return Err((PERL, &text[..text.len() - rest.len()])),
            }
            saw_flag = c != '-';
        }
        Err((PERL, text))
    }

    fn escape(&mut self, text: &'a str, ignore_case: bool) -> Result<&'a str, RegexError<'a>> {
        let translations = [("\\A", "\\A"), ("\\z", "\\z"), ("\\b", "(?-u:\\b)"), ("\\B", "(?-u:\\B)")];
        for (escape, translated) in translations {
            if let Some(rest) = text.strip_prefix(escape) {
                self.atom(translated);
                return Ok(rest);
            }
        }
        if let Some(quoted) = text.strip_prefix("\\Q") {
            let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            self.classes.add_size(Size::nodes(literal.chars().count()))?;
            literal.chars().for_each(|c| self.literal(c));
            return Ok(rest);
        }
        if let Some((translated, rest)) = self.classes.escape(text, ignore_case)? {
            self.atom(&format!("[{translated}]"));
            return Ok(rest);
        }
        let (c, rest) = character(text)?;
        self.literal(c);
        Ok(rest)
    }
}

const PERL: &str = "invalid or unsupported Perl syntax";

/// Minimum and maximum repetitions, and the rest of the text.
type Counts<'a> = (u32, Option<u32>, &'a str);

/// Parses `{2}`, `{2,}` or `{2,3}`; other text is not a repetition.
fn counts(text: &str) -> Option<Counts<'_>> {
    let (least, rest) = count(text.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, Some(least), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((least, None, rest));
    }
    let (most, rest) = count(rest)?;
    Some((least, Some(most), rest.strip_prefix('}')?))
}

/// Parses a number without leading zeros, saturating.
fn count(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let canonical = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
    canonical.then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}
