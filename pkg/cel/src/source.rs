//! The text of an expression: lines, locations, and how errors are shown with the line and a caret.

/// Errors of one text that are kept; further ones are only counted.
const MAX_ERRORS: usize = 100;
/// Lines longer than this many bytes are not shown beneath an error.
const MAX_SNIPPET: usize = 16384;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1.
    pub line: i32,
    /// The column in code points, from 0.
    pub column: i32,
}

impl Location {
    /// Of errors that belong to no place; they sort before all others.
    pub const NONE: Location = Location { line: -1, column: -1 };
}

/// A text and where its lines begin.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    text: &'a str,
    /// For each line: code points before it, bytes before it.
    lines: Vec<(u32, u32)>,
}

impl<'a> Source<'a> {
    /// Finds the lines of a text, which end with `\n`.
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

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Where the code point with this offset stands. The negative offset of something that is in no place
    /// yields a negative column in the first line, as in cel-go, where all offsets in an empty text are negative.
    pub fn location(&self, offset: i32) -> Location {
        let offset = if self.text.is_empty() { -1 } else { offset };
        let line = self.lines.partition_point(|(points, _)| *points as i32 <= offset).max(1);
        Location { line: line as i32, column: offset - self.lines[line - 1].0 as i32 }
    }

    /// A line, from 1, without its end.
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

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The place.
    pub location: Location,
    /// What is wrong.
    pub message: String,
}

impl Error {
    /// The error as users see it: `ERROR: <input>:1:7: …`, and beneath it the line with a caret. Characters of
    /// more than one byte are marked with full-width dots and carets.
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

/// The errors of one text, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    kept: Vec<Error>,
    total: usize,
}

impl Errors {
    /// Notes an error; only the first hundred are kept.
    pub fn report(&mut self, location: Location, message: impl Into<String>) {
        self.total += 1;
        if self.total <= MAX_ERRORS {
            self.kept.push(Error { location, message: message.into() });
        }
    }

    /// Those that are kept.
    pub fn kept(&self) -> &[Error] {
        &self.kept
    }

    /// How many there were.
    pub fn len(&self) -> usize {
        self.total
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// All errors by position, a line between them.
    pub fn display(&self, source: &Source<'_>) -> String {
        let mut sorted: Vec<&Error> = self.kept.iter().collect();
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
    fn the_caret_stands_under_wide_characters_too() {
        let source = Source::new("a\n\t'😁' ?");
        let error = Error { location: source.location(4), message: "m".to_owned() };
        assert_eq!(error.display(&source), "ERROR: <input>:2:3: m\n |  '😁' ?\n | ..＾");
    }

    #[test]
    fn errors_are_shown_by_position_and_beyond_a_hundred_counted() {
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
