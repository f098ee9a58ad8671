//! Source text of an expression: lines, locations, and error display with the line and a caret.

/// Maximum number of stored errors per text; further ones are only counted.
const MAX_ERRORS: usize = 100;
/// Maximum length in bytes of a line that is shown beneath an error.
const MAX_SNIPPET: usize = 16384;

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line number, from 1.
    pub line: i32,
    /// Column in code points, from 0.
    pub column: i32,
}

impl Location {
    /// Location of errors without a position; they sort before all others.
    pub const NONE: Location = Location { line: -1, column: -1 };
}

/// A text with its line starts.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    text: &'a str,
    /// Per line: code points and bytes before it.
    lines: Vec<(u32, u32)>,
}

impl<'a> Source<'a> {
    /// Indexes the lines of a text, which end with `\n`.
    pub fn new(text: &'a str) -> Source<'a> {
        let mut lines = vec![(0, 0)];
        if text.contains('\n') {
            for (points, (bytes, c)) in text.char_indices().enumerate() {
                if c == '\n' {
                    lines.push((points as u32 + 1, bytes as u32 + 1));
                }
            }
        }
        Source { text, lines }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the location of a code point offset. A negative offset, for things without a position, yields
    /// a negative column in the first line. As in cel-go, all offsets in an empty text are negative.
    pub fn location(&self, offset: i32) -> Location {
        let offset = if self.text.is_empty() { -1 } else { offset };
        let line = self.lines.partition_point(|(points, _)| *points as i32 <= offset).max(1);
        Location { line: line as i32, column: offset - self.lines[line - 1].0 as i32 }
    }

    /// Returns a line, from 1, without its line end.
    fn snippet(&self, line: i32) -> Option<&'a str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = self.lines.get(index)?.1 as usize;
        let end = match self.lines.get(index + 1) {
            Some((_, next)) => *next as usize - 1,
            None => self.text.len(),
        };
        (!self.text.is_empty()).then(|| &self.text[start..end])
    }
}

/// An error with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Location in the text, or [`Location::NONE`].
    pub location: Location,
    /// Error text without the location.
    pub message: String,
}

impl Error {
    /// Formats the error for users: `ERROR: <input>:1:7: …`, followed by the line with a caret. Multi-byte
    /// characters are marked with full-width dots and carets.
    pub fn display(&self, source: &Source<'_>) -> String {
        let Location { line, column } = self.location;
        let mut out = format!("ERROR: <input>:{line}:{}: {}", column + 1, self.message);
        let Some(snippet) = source.snippet(line).filter(|snippet| snippet.len() <= MAX_SNIPPET) else {
            return out;
        };
        out.push_str("\n | ");
        out.push_str(&snippet.replace('\t', " "));
        out.push_str("\n | ");
        let mut rest = snippet.chars();
        for c in rest.by_ref().take(column.max(0) as usize) {
            out.push(if c.is_ascii() { '.' } else { '．' });
        }
        out.push(if rest.next().is_none_or(|c| c.is_ascii()) { '^' } else { '＾' });
        out
    }
}

/// Errors of one text, in the order of detection.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    errors: Vec<Error>,
    total: usize,
}

impl Errors {
    /// Records an error; only the first hundred are stored.
    pub fn report(&mut self, location: Location, message: impl Into<String>) {
        self.total += 1;
        if self.total <= MAX_ERRORS {
            self.errors.push(Error { location, message: message.into() });
        }
    }

    /// Returns the stored errors.
    pub fn as_slice(&self) -> &[Error] {
        &self.errors
    }

    /// Returns the number of reported errors, including those that are not stored.
    pub fn len(&self) -> usize {
        self.total
    }

    /// Returns true if no error was reported.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Formats all errors by position, one per line.
    pub fn display(&self, source: &Source<'_>) -> String {
        let mut sorted: Vec<&Error> = self.errors.iter().collect();
        sorted.sort_by_key(|error| error.location);
        let mut shown: Vec<String> = sorted.iter().map(|error| error.display(source)).collect();
        if self.total > MAX_ERRORS {
            shown.push(format!("{} more errors were truncated", self.total - MAX_ERRORS));
        }
        shown.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_is_placed_under_wide_characters() {
        let source = Source::new("a\n\t'😁' ?");
        let error = Error { location: source.location(4), message: "m".to_owned() };
        assert_eq!(error.display(&source), "ERROR: <input>:2:3: m\n |  '😁' ?\n | ..＾");
    }

    #[test]
    fn errors_are_sorted_and_capped() {
        let source = Source::new("ab");
        let mut errors = Errors::default();
        for offset in [1, 0] {
            errors.report(source.location(offset), "m");
        }
        assert_eq!(
            errors.display(&source),
            "ERROR: <input>:1:1: m\n | ab\n | ^\nERROR: <input>:1:2: m\n | ab\n | .^"
        );
        for _ in 0..101 {
            errors.report(Location::NONE, "n");
        }
        assert!(errors.display(&source).starts_with("ERROR: <input>:-1:0: n\n"));
        assert!(errors.display(&source).ends_with("\n3 more errors were truncated"));
    }
}
