//! Content of a `script` element (WHATWG HTML, 13.2.5.4 and following, with the deviations of Go's `html.Tokenizer`).

use super::tag::is_space;

const NAME: &[u8] = b"script";

/// Progress in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Script {
    level: Level,
    stage: Stage,
}

/// Nesting in `<!--` and then in `<script`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Plain,
    Escaped,
    DoubleEscaped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Text,
    /// After `-` in an escaped level.
    Dash,
    /// After `--` in an escaped level.
    DashDash,
    /// After `<`.
    Less,
    /// After `<!`.
    Bang,
    /// After `<!-`.
    BangDash,
    /// After `</` and this many letters of the name.
    EndTag(usize),
    /// After `<` and this many letters of the name, in the escaped level.
    StartTag(usize),
}

/// Effect of a byte on the bytes since the last `<`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// All bytes are text.
    Text,
    /// More bytes decide.
    Held,
    /// The bytes before this one are text; this one must be pushed again.
    Retry,
    /// The bytes are an end tag up to the byte after its name.
    EndTag,
}

impl Default for Script {
    fn default() -> Self {
        Script { level: Level::Plain, stage: Stage::Text }
    }
}

impl Script {
    fn go(&mut self, level: Level, stage: Stage, step: Step) -> Step {
        *self = Script { level, stage };
        step
    }

    /// Scans a byte.
    pub(super) fn push(&mut self, byte: u8) -> Step {
        match self.stage {
            Stage::Text | Stage::Dash | Stage::DashDash => self.text(byte),
            Stage::Less => self.after_less(byte),
            Stage::Bang if byte == b'-' => self.go(Level::Plain, Stage::BangDash, Step::Text),
            Stage::BangDash if byte == b'-' => self.go(Level::Escaped, Stage::DashDash, Step::Text),
            Stage::Bang | Stage::BangDash => self.go(Level::Plain, Stage::Text, Step::Retry),
            Stage::EndTag(count) => self.end_tag(byte, count),
            Stage::StartTag(count) => self.start_tag(byte, count),
        }
    }

    fn text(&mut self, byte: u8) -> Step {
        let level = self.level;
        match (byte, self.stage) {
            (b'<', _) => self.go(level, Stage::Less, Step::Held),
            (b'-', _) if level == Level::Plain => Step::Text,
            (b'-', Stage::Text) => self.go(level, Stage::Dash, Step::Text),
            (b'-', _) => self.go(level, Stage::DashDash, Step::Text),
            (b'>', Stage::DashDash) => self.go(Level::Plain, Stage::Text, Step::Text),
            _ => self.go(level, Stage::Text, Step::Text),
        }
    }

    fn after_less(&mut self, byte: u8) -> Step {
        match (self.level, byte) {
            (level, b'/') => self.go(level, Stage::EndTag(0), Step::Held),
            (Level::Plain, b'!') => self.go(Level::Plain, Stage::Bang, Step::Text),
            (Level::Escaped, b'a'..=b'z' | b'A'..=b'Z') => self.start_tag(byte, 0),
            // Go leaves the escaped level here.
            (Level::Escaped | Level::Plain, _) => self.go(Level::Plain, Stage::Text, Step::Retry),
            (Level::DoubleEscaped, _) => self.go(Level::DoubleEscaped, Stage::Text, Step::Retry),
        }
    }

    fn end_tag(&mut self, byte: u8, count: usize) -> Step {
        let level = self.level;
        match NAME.get(count) {
            Some(letter) if letter.eq_ignore_ascii_case(&byte) => {
                self.go(level, Stage::EndTag(count + 1), Step::Held)
            }
            None if ends_name(byte) && level == Level::DoubleEscaped => {
                self.go(Level::Escaped, Stage::Text, Step::Text)
            }
            None if ends_name(byte) => Step::EndTag,
            _ => self.go(level, Stage::Text, Step::Retry),
        }
    }

    fn start_tag(&mut self, byte: u8, count: usize) -> Step {
        match NAME.get(count) {
            Some(letter) if letter.eq_ignore_ascii_case(&byte) => {
                self.go(Level::Escaped, Stage::StartTag(count + 1), Step::Held)
            }
            None if ends_name(byte) => self.go(Level::DoubleEscaped, Stage::Text, Step::Text),
            _ => self.go(Level::Escaped, Stage::Text, Step::Retry),
        }
    }
}

fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}
