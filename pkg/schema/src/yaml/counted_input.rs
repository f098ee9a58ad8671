//! Input of the YAML parser that counts tokens.
//!
//! Within brackets, the parser keeps every token until the outermost bracket closes, because all of it may be
//! a key. Only before each token it checks for a byte order mark. So tokens are counted in this check, and
//! the parser is stopped there: the reported mark is an error within brackets.

use std::cell::Cell;
use std::rc::Rc;

use saphyr_parser::input::SkipTabs;
use saphyr_parser::{Input, Span, StrInput};

use crate::memory::{BudgetExceeded, DecodeBudget};

/// Memory of the parser per token, in bytes: its position, at most two strings and its type, in a list that
/// doubles its capacity; and the text of a plain scalar with a capacity of 32 bytes.
const TOKEN_BYTES: usize = (size_of::<Span>() + 2 * size_of::<String>() + 32) * 2;

/// Maximum number of tokens of a colon: the following value, the key before it, and the start and end of a
/// block map.
const COLON_TOKENS: usize = 4;

/// The mark that the parser looks for before each token.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Token counters.
#[derive(Default)]
pub(super) struct Count {
    /// Tokens since the last event.
    tokens: Cell<usize>,
    /// Maximum number of tokens.
    tokens_max: Cell<usize>,
    /// Highest number of tokens so far.
    peak: Cell<usize>,
    exceeded: Cell<bool>,
}

impl Count {
    /// Must be called before the first event and after each: the parser has consumed its tokens and reuses
    /// their memory.
    ///
    /// # Errors
    /// The tokens exceed the memory budget.
    pub(super) fn next(&self, budget: &mut DecodeBudget) -> Result<(), BudgetExceeded> {
        if self.exceeded.get() {
            return Err(BudgetExceeded);
        }
        let tokens = self.tokens.take();
        if let Some(more) = tokens.checked_sub(self.peak.get()) {
            budget.charge(more.saturating_mul(TOKEN_BYTES))?;
            self.peak.set(tokens);
        }
        self.tokens_max.set(self.peak.get().saturating_add(budget.remaining() / TOKEN_BYTES));
        Ok(())
    }

    /// Counts a token that begins with `first`. Returns false if it exceeds the maximum.
    fn token(&self, first: char) -> bool {
        let tokens = self.tokens.get() + if first == ':' { COLON_TOKENS } else { 1 };
        self.tokens.set(tokens);
        self.exceeded.set(tokens > self.tokens_max.get());
        !self.exceeded.get()
    }
}

/// A text whose tokens are counted.
pub(super) struct CountedInput<'t> {
    input: StrInput<'t>,
    count: Rc<Count>,
}

impl<'t> CountedInput<'t> {
    pub(super) fn new(text: &'t str, count: &Rc<Count>) -> Self {
        CountedInput { input: StrInput::new(text), count: Rc::clone(count) }
    }
}

/// Delegates all methods that [`StrInput`] optimizes.
impl Input for CountedInput<'_> {
    #[inline]
    fn next_char_is(&self, c: char) -> bool {
        if c == BYTE_ORDER_MARK && !self.count.token(self.input.peek()) {
            return true;
        }
        self.input.next_char_is(c)
    }

    #[inline]
    fn lookahead(&mut self, count: usize) {
        self.input.lookahead(count);
    }

    #[inline]
    fn buflen(&self) -> usize {
        self.input.buflen()
    }

    #[inline]
    fn bufmaxlen(&self) -> usize {
        self.input.bufmaxlen()
    }

    #[inline]
    fn raw_read_ch(&mut self) -> char {
        self.input.raw_read_ch()
    }

    #[inline]
    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.input.raw_read_non_breakz_ch()
    }

    #[inline]
    fn skip(&mut self) {
        self.input.skip();
    }

    #[inline]
    fn skip_n(&mut self, count: usize) {
        self.input.skip_n(count);
    }

    #[inline]
    fn peek(&self) -> char {
        self.input.peek()
    }

    #[inline]
    fn peek_nth(&self, n: usize) -> char {
        self.input.peek_nth(n)
    }

    #[inline]
    fn peek_opt(&self) -> Option<char> {
        self.input.peek_opt()
    }

    #[inline]
    fn next_is_document_indicator(&self) -> bool {
        self.input.next_is_document_indicator()
    }

    #[inline]
    fn next_is_document_start(&self) -> bool {
        self.input.next_is_document_start()
    }

    #[inline]
    fn next_is_document_end(&self) -> bool {
        self.input.next_is_document_end()
    }

    #[inline]
    fn skip_ws_to_eol(&mut self, skip_tabs: SkipTabs) -> (usize, Result<SkipTabs, &'static str>) {
        self.input.skip_ws_to_eol(skip_tabs)
    }

    #[inline]
    fn next_can_be_plain_scalar(&self, in_flow: bool) -> bool {
        self.input.next_can_be_plain_scalar(in_flow)
    }

    #[inline]
    fn skip_while_non_breakz(&mut self) -> usize {
        self.input.skip_while_non_breakz()
    }

    #[inline]
    fn skip_while_blank(&mut self) -> usize {
        self.input.skip_while_blank()
    }

    #[inline]
    fn fetch_while_is_alpha(&mut self, out: &mut String) -> usize {
        self.input.fetch_while_is_alpha(out)
    }

    #[inline]
    fn fetch_while_is_yaml_non_space(&mut self, out: &mut String) -> usize {
        self.input.fetch_while_is_yaml_non_space(out)
    }
}
