//! Incremental scanner that finds the start tags of a document. It splits documents as Go's `html.Tokenizer` does, which
//! differs from browsers in scripts and in unfinished tags. All other bytes pass through it unchanged.

use super::script::{Script, Step};
use super::tag::{TagScanner, is_space};

/// Maximum size of a tag that is rewritten. A larger one passes through unchanged.
const TAG_BYTES_MAX: usize = 1024 * 1024;

/// Elements whose content is text up to their end tag.
const RAW_TEXT: [&[u8]; 8] =
    [b"iframe", b"noembed", b"noframes", b"noscript", b"style", b"textarea", b"title", b"xmp"];

/// Scanner of a document.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    state: State,
    /// Bytes since a `<` that may begin a tag. Not passed on yet.
    held: Vec<u8>,
    /// Number of bytes of the current tag that were passed on, because it is too large.
    passed_bytes: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// After `<`.
    TagOpen,
    /// After `</`.
    EndTagOpen,
    StartTag(TagScanner, Content),
    EndTag(TagScanner),
    /// After `<!`.
    MarkupOpen,
    /// After `<!-`.
    MarkupDash,
    /// Up to the next `>`.
    Declaration,
    Comment(Comment),
    RawText(&'static [u8], RawText),
    Script(Script),
    /// The rest of the document is text.
    PlainText,
}

/// Content of an element.
#[derive(Debug, Clone, Copy)]
enum Content {
    Markup,
    Raw(&'static [u8]),
    Script,
    PlainText,
}

#[derive(Debug, Clone, Copy)]
struct Comment {
    dashes: usize,
    /// True if only dashes were read.
    beginning: bool,
    /// True after two dashes and an exclamation mark.
    bang: bool,
}

/// Progress in an end tag within raw text.
#[derive(Debug, Clone, Copy)]
enum RawText {
    Text,
    /// After `<`.
    Less,
    /// After `</` and this many letters of the name.
    Name(usize),
}

impl Scanner {
    /// Scans a part of the document and appends the result. `write` appends the new text of a start tag; it returns
    /// false to keep the tag.
    pub(super) fn scan(
        &mut self,
        part: &[u8],
        write: &mut impl FnMut(&TagScanner, &[u8], &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let mut rest = part;
        while let Some((byte, after)) = rest.split_first() {
            // Fast path: text up to the next `<`.
            if matches!(self.state, State::Text) {
                let text = memchr::memchr(b'<', rest).unwrap_or(rest.len());
                let (text, markup) = rest.split_at(text);
                out.extend_from_slice(text);
                let Some((_, after)) = markup.split_first() else { return };
                self.held.push(b'<');
                self.state = State::TagOpen;
                rest = after;
                continue;
            }
            rest = after;
            self.push(*byte, write, out);
        }
    }

    /// Ends the document. An unfinished tag is dropped, as in upstream.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.state, State::StartTag(..) | State::EndTag(_)) {
            out.append(&mut self.held);
        }
        *self = Scanner::default();
    }

    fn push(
        &mut self,
        byte: u8,
        write: &mut impl FnMut(&TagScanner, &[u8], &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let at = self.passed_bytes + self.held.len();
        self.held.push(byte);
        match &mut self.state {
            State::StartTag(tag, content) => {
                let unnamed = tag.name().is_none();
                let ended = tag.push(byte, at);
                if let Some(name) = tag.name().filter(|_| unnamed && self.passed_bytes == 0) {
                    *content = self.held.get(name).map_or(Content::Markup, content_of);
                }
                if ended {
                    self.end_start_tag(write, out);
                } else {
                    self.limit_tag(out);
                }
            }
            State::EndTag(tag) => {
                if tag.push(byte, at) {
                    self.pass_on(State::Text, out);
                } else {
                    self.limit_tag(out);
                }
            }
            State::Script(script) => match script.push(byte) {
                Step::Text => out.append(&mut self.held),
                Step::Held => {}
                Step::Retry => self.retry(out),
                Step::EndTag => self.begin_end_tag(out),
            },
            State::RawText(name, progress) => {
                let name = *name;
                match raw_text(name, *progress, byte) {
                    RawStep::Continue(RawText::Text) => {
                        self.pass_on(State::RawText(name, RawText::Text), out);
                    }
                    RawStep::Continue(next) => *progress = next,
                    RawStep::Retry => {
                        *progress = RawText::Text;
                        self.retry(out);
                    }
                    RawStep::EndTag => self.begin_end_tag(out),
                }
            }
            State::Text | State::PlainText => out.append(&mut self.held),
            State::TagOpen => self.tag_open(byte, out),
            State::EndTagOpen => self.end_tag_open(byte, out),
            State::MarkupOpen if byte == b'-' => self.pass_on(State::MarkupDash, out),
            State::MarkupDash if byte == b'-' => self.pass_on(State::Comment(Comment::new()), out),
            State::MarkupOpen | State::MarkupDash | State::Declaration => {
                let next = if byte == b'>' { State::Text } else { State::Declaration };
                self.pass_on(next, out);
            }
            State::Comment(comment) => {
                let next = comment.push(byte).map_or(State::Text, State::Comment);
                self.pass_on(next, out);
            }
        }
    }

    /// Handles the byte after `<`.
    fn tag_open(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => self.state = State::StartTag(TagScanner::new(1), Content::Markup),
            b'/' => self.state = State::EndTagOpen,
            b'!' => self.pass_on(State::MarkupOpen, out),
            b'?' => self.pass_on(State::Declaration, out),
            _ => {
                self.state = State::Text;
                self.retry(out);
            }
        }
    }

    /// Handles the byte after `</`.
    fn end_tag_open(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => self.state = State::EndTag(TagScanner::new(2)),
            b'>' => self.pass_on(State::Text, out),
            _ => self.pass_on(State::Declaration, out),
        }
    }

    /// Passes on what was held, except the last byte, which is scanned again in a text state. Of these bytes, only `<`
    /// is significant.
    fn retry(&mut self, out: &mut Vec<u8>) {
        let last = self.held.pop();
        out.append(&mut self.held);
        match (last, &mut self.state) {
            (Some(b'<'), State::Text) => self.state = State::TagOpen,
            (Some(b'<'), State::RawText(_, progress)) => *progress = RawText::Less,
            (Some(last), State::Script(script)) => {
                self.held.push(last);
                if matches!(script.push(last), Step::Text) {
                    out.append(&mut self.held);
                }
                return;
            }
            (Some(last), _) => return out.push(last),
            (None, _) => return,
        }
        self.held.push(b'<');
    }

    fn pass_on(&mut self, next: State, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.passed_bytes = 0;
        self.state = next;
    }

    /// Scans what is held, an end tag up to the byte after its name, as such.
    fn begin_end_tag(&mut self, out: &mut Vec<u8>) {
        let mut tag = TagScanner::new(2);
        let mut ended = false;
        for (at, byte) in self.held.iter().enumerate().skip(2) {
            ended = tag.push(*byte, at);
        }
        if ended {
            self.pass_on(State::Text, out);
        } else {
            self.state = State::EndTag(tag);
        }
    }

    /// Passes on the beginning of a tag that is too large. The scanner only searches its end from here on.
    fn limit_tag(&mut self, out: &mut Vec<u8>) {
        if self.passed_bytes > 0 || self.held.len() > TAG_BYTES_MAX {
            self.passed_bytes = self.passed_bytes.saturating_add(self.held.len());
            out.append(&mut self.held);
        }
    }

    fn end_start_tag(
        &mut self,
        write: &mut impl FnMut(&TagScanner, &[u8], &mut Vec<u8>) -> bool,
        out: &mut Vec<u8>,
    ) {
        let State::StartTag(tag, content) = std::mem::take(&mut self.state) else { return };
        if self.passed_bytes == 0 && write(&tag, &self.held, out) {
            self.held.clear();
        }
        let next = match content {
            Content::Markup => State::Text,
            Content::Raw(name) => State::RawText(name, RawText::Text),
            Content::Script => State::Script(Script::default()),
            Content::PlainText => State::PlainText,
        };
        self.pass_on(next, out);
    }
}

/// Returns the content of an element.
fn content_of(name: &[u8]) -> Content {
    let is = |element: &&&[u8]| name.eq_ignore_ascii_case(element);
    match RAW_TEXT.iter().find(is) {
        Some(element) => Content::Raw(element),
        None if name.eq_ignore_ascii_case(b"script") => Content::Script,
        None if name.eq_ignore_ascii_case(b"plaintext") => Content::PlainText,
        None => Content::Markup,
    }
}

enum RawStep {
    Continue(RawText),
    /// The byte may begin an end tag itself.
    Retry,
    EndTag,
}

fn raw_text(name: &[u8], progress: RawText, byte: u8) -> RawStep {
    match progress {
        RawText::Text if byte == b'<' => RawStep::Continue(RawText::Less),
        RawText::Text => RawStep::Continue(RawText::Text),
        RawText::Less if byte == b'/' => RawStep::Continue(RawText::Name(0)),
        RawText::Less => RawStep::Retry,
        RawText::Name(count) => match name.get(count) {
            Some(letter) if letter.eq_ignore_ascii_case(&byte) => RawStep::Continue(RawText::Name(count + 1)),
            None if is_space(byte) || matches!(byte, b'/' | b'>') => RawStep::EndTag,
            _ => RawStep::Retry,
        },
    }
}

impl Comment {
    fn new() -> Self {
        Comment { dashes: 0, beginning: true, bang: false }
    }

    /// Returns the state after a byte; `None` at the end.
    fn push(self, byte: u8) -> Option<Self> {
        let middle = Comment { dashes: 0, beginning: false, bang: false };
        match byte {
            b'>' if self.bang || self.dashes >= 2 || self.beginning => None,
            b'-' if self.bang => Some(Comment { dashes: 1, ..middle }),
            b'-' => Some(Comment { dashes: self.dashes.saturating_add(1), ..self }),
            b'!' if self.dashes >= 2 => Some(Comment { bang: true, ..middle }),
            _ => Some(middle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans a document in pieces of this size. Start tags become `[NAME]`.
    fn scanned(document: &[u8], piece: usize) -> String {
        let mut scanner = Scanner::default();
        let mut out = Vec::new();
        let mut write = |tag: &TagScanner, text: &[u8], out: &mut Vec<u8>| {
            out.push(b'[');
            out.extend_from_slice(tag.name().and_then(|name| text.get(name)).unwrap_or_default());
            out.push(b']');
            true
        };
        for part in document.chunks(piece) {
            scanner.scan(part, &mut write, &mut out);
        }
        scanner.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn check(document: &str, expected: &str) {
        for piece in [1, 2, 5, document.len().max(1)] {
            assert_eq!(scanned(document.as_bytes(), piece), expected, "{document} in pieces of {piece}");
        }
    }

    #[test]
    fn only_start_tags_are_found() {
        check("a<b>c</b>d", "a[b]c</b>d");
        check("1 < 2 <<a>", "1 < 2 <[a]");
        check("<!DOCTYPE html><?x <a>?>", "<!DOCTYPE html><?x <a>?>");
        check("</><a></1 <b><c>", "</>[a]</1 <b>[c]");
        check("<a title='>'><b>", "[a][b]");
    }

    #[test]
    fn comments_hide_tags() {
        check("<!-- <a> --><b>", "<!-- <a> -->[b]");
        check("<!--><a><!---><b>", "<!-->[a]<!--->[b]");
        check("<!-- <a> --!><b>", "<!-- <a> --!>[b]");
        check("<!-- --!- <a> --><b>", "<!-- --!- <a> -->[b]");
        check("<!- <a><b>", "<!- <a>[b]");
        check("<!><b>", "<!>[b]");
    }

    #[test]
    fn raw_text_hides_tags() {
        check("<title><a></tit</title ><b>", "[title]<a></tit</title >[b]");
        check("<STYLE><</style><b>", "[STYLE]<</style>[b]");
        check("<style/><a></style><b>", "[style]<a></style>[b]");
        check("<plaintext><a></plaintext><b>", "[plaintext]<a></plaintext><b>");
        check("<titles><a>", "[titles][a]");
    }

    #[test]
    fn scripts_hide_tags() {
        check("<script>if (a<b) '<i>'</script><b>", "[script]if (a<b) '<i>'</script>[b]");
        check(
            "<script><!-- <script> </script> --></script><b>",
            "[script]<!-- <script> </script> --></script>[b]",
        );
        check("<script><!-- </script><b>", "[script]<!-- </script>[b]");
        check("<script><!-<</script><b>", "[script]<!-<</script>[b]");
        check("<script><!--<1</script><b>", "[script]<!--<1</script>[b]");
        check(
            "<script><!--<script <!-- </script </script><b>",
            "[script]<!--<script <!-- </script </script>[b]",
        );
    }

    #[test]
    fn unfinished_tag_is_dropped_at_the_end() {
        check("a<b c='", "a");
        check("a</b", "a");
        check("a<", "a<");
        check("a</", "a</");
        check("a<!--", "a<!--");
        check("<title></tit", "[title]</tit");
        check("<title></title ", "[title]");
    }

    #[test]
    fn too_large_tag_is_passed_on() {
        let long = "x".repeat(TAG_BYTES_MAX);
        let document = format!("<a b='{long}' c='>'><d>");
        assert_eq!(scanned(document.as_bytes(), 1000), format!("<a b='{long}' c='>'>[d]"));
    }
}
