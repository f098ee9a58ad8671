//! Parses YAML text to nodes.
//!
//! The nodes are in one list and refer to each other by index, so that neither depth nor alias cycles are a
//! problem.

use std::borrow::Cow;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::Error;
use super::counted_input::{Count, CountedInput};
use super::upstream_error::{anchor_name, translate};
use crate::memory::DecodeBudget;

/// Maximum nesting depth of a document; upstream's limit.
const DEPTH_MAX: usize = 10_000;

/// The first document of a text.
pub(super) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    text: &'a str,
}

pub(super) type Id = usize;

/// A node and its first line, counted from 1.
pub(super) struct Node<'a> {
    pub(super) line: usize,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    Scalar {
        value: Cow<'a, str>,
        /// True if neither quoted nor a block.
        plain: bool,
        /// `!!` and a name for the core tags, otherwise as written; empty for none.
        tag: String,
    },
    List(Vec<Id>),
    Map(Vec<(Id, Id)>),
    Alias {
        /// The node with the anchor.
        target: Id,
        /// Offset of the alias in the text, in characters.
        at: usize,
    },
}

impl<'a> Document<'a> {
    /// The root node; `None` for an empty text.
    pub(super) fn root(&self) -> Option<Id> {
        (!self.nodes.is_empty()).then_some(0)
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node<'a>> {
        self.nodes.get(id)
    }

    pub(super) fn text_len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The anchor name of the alias at this offset.
    pub(super) fn anchor_name(&self, at: usize) -> String {
        anchor_name(self.text, at)
    }
}

/// Rejects the escape `\/`, which upstream's YAML version does not have. Follows the events through the text,
/// so that each character is checked once.
struct EscapedSlashes<'a> {
    rest: std::str::Chars<'a>,
    /// Offset of the rest, in characters.
    at: usize,
}

impl<'a> EscapedSlashes<'a> {
    /// `None` for a text without such an escape.
    fn find_in(text: &'a str) -> Option<Self> {
        text.contains("\\/").then(|| EscapedSlashes { rest: text.chars(), at: 0 })
    }

    fn check(&mut self, event: &Event<'_>, span: Span) -> Result<(), Error> {
        let Event::Scalar(_, ScalarStyle::DoubleQuoted, ..) = event else { return Ok(()) };
        let Some(ahead) = span.start.index().checked_sub(self.at) else { return Ok(()) };
        let mut scalar = self.rest.by_ref().skip(ahead).take(span.len());
        let mut has_escape = false;
        while let Some(c) = scalar.next() {
            has_escape |= c == '\\' && scalar.next() == Some('/');
        }
        self.at = span.start.index() + span.len();
        match (has_escape, span.start.line()) {
            (false, _) => Ok(()),
            (true, 0 | 1) => Err(Error::text("yaml: found unknown escape character")),
            (true, line) => Err(Error::Text(format!("yaml: line {line}: found unknown escape character"))),
        }
    }
}

/// Memory of a node, in the list of nodes, which doubles its capacity, and in its parent's list.
const NODE_BYTES: usize = size_of::<Node<'_>>() * 3 / 2 + size_of::<(Id, Id)>();

/// Parses the first document within a memory budget.
///
/// # Errors
/// Syntax errors, and [`Error::BudgetExceeded`].
pub(super) fn document<'t>(text: &'t str, budget: &mut DecodeBudget) -> Result<Document<'t>, Error> {
    let mut builder = Builder { nodes: Vec::new(), open: Vec::new(), anchors: Vec::new() };
    let mut slashes = EscapedSlashes::find_in(text);
    let count = Rc::<Count>::default();
    count.next(budget)?;
    for event in Parser::new(CountedInput::new(text, &count)) {
        count.next(budget)?;
        let (event, span) = event.map_err(|error| translate(text, &error))?;
        if let Some(slashes) = &mut slashes {
            slashes.check(&event, span)?;
        }
        if matches!(event, Event::DocumentEnd | Event::StreamEnd) {
            break;
        }
        budget.charge(NODE_BYTES)?;
        builder.add(event, span)?;
    }
    Ok(Document { nodes: builder.nodes, text })
}

/// Upstream omits the line number of the first line.
fn too_deep(line: usize) -> Error {
    let place = if line > 1 { format!("line {line}: ") } else { String::new() };
    Error::Text(format!("yaml: {place}exceeded max depth of {DEPTH_MAX}"))
}

struct Builder<'a> {
    nodes: Vec<Node<'a>>,
    /// The open collections, and for maps the key whose value is missing.
    open: Vec<(Id, Option<Id>)>,
    /// Anchor number to node.
    anchors: Vec<Id>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, event: Event<'a>, span: Span) -> Result<(), Error> {
        // The span of a block scalar starts below its header.
        let block = matches!(event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..));
        let (anchor, kind, opens) = match event {
            Event::Scalar(value, style, anchor, tag) => (
                anchor,
                Kind::Scalar { value, plain: style == ScalarStyle::Plain, tag: short_tag(tag) },
                false,
            ),
            Event::SequenceStart(anchor, _) => (anchor, Kind::List(Vec::new()), true),
            Event::MappingStart(anchor, _) => (anchor, Kind::Map(Vec::new()), true),
            Event::Alias(anchor) => {
                let target = self.anchors.get(anchor).copied().unwrap_or(self.nodes.len());
                (0, Kind::Alias { target, at: span.start.index() }, false)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                return Ok(());
            }
            _ => return Ok(()),
        };
        let id = self.nodes.len();
        let line = span.start.line().saturating_sub(usize::from(block));
        self.nodes.push(Node { line, kind });
        self.attach(id);
        if anchor > 0 {
            self.anchors.resize(self.anchors.len().max(anchor + 1), id);
            if let Some(slot) = self.anchors.get_mut(anchor) {
                *slot = id;
            }
        }
        if opens {
            self.open.push((id, None));
            if self.open.len() > DEPTH_MAX {
                return Err(too_deep(line));
            }
        }
        Ok(())
    }

    /// Adds a node to the innermost open collection.
    fn attach(&mut self, id: Id) {
        let Some((parent, waiting)) = self.open.last_mut() else { return };
        match self.nodes.get_mut(*parent).map(|node| &mut node.kind) {
            Some(Kind::List(items)) => items.push(id),
            Some(Kind::Map(entries)) => match waiting.take() {
                Some(key) => entries.push((key, id)),
                None => *waiting = Some(id),
            },
            _ => {}
        }
    }
}

fn short_tag(tag: Option<Cow<'_, Tag>>) -> String {
    match tag {
        Some(tag) if tag.handle == "tag:yaml.org,2002:" => format!("!!{}", tag.suffix),
        Some(tag) => format!("{}{}", tag.handle, tag.suffix),
        None => String::new(),
    }
}
