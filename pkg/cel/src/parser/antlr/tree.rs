//! Parse tree of the interpreter: one node per rule, with the parts that were found.

use super::grammar::{Label, Rule};
use crate::lexer::Token;

/// Index of a node in a [`Tree`].
pub(super) type NodeId = usize;

/// A part of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Child {
    /// A token; inserted if a required one was missing.
    Token(Token),
    /// The node of another rule.
    Node(NodeId),
}

/// A rule's node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) rule: Rule,
    /// Number of the alternative, from 1; 0 if an error came first. In left-recursive rules the operators are
    /// numbered after the one alternative.
    pub(super) alternative: u8,
    /// The first token.
    pub(super) start: Token,
    pub(super) children: Vec<(Label, Child)>,
}

/// All nodes; the first is the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn add(&mut self, rule: Rule, alternative: u8, start: Token) -> NodeId {
        self.nodes.push(Node { rule, alternative, start, children: Vec::new() });
        self.nodes.len() - 1
    }
}

impl Node {
    pub(super) fn tokens(&self, label: Label) -> impl Iterator<Item = Token> {
        self.children.iter().filter_map(move |(is, child)| match child {
            Child::Token(token) if *is == label => Some(*token),
            _ => None,
        })
    }

    pub(super) fn nodes(&self, label: Label) -> impl Iterator<Item = NodeId> {
        self.children.iter().filter_map(move |(is, child)| match child {
            Child::Node(node) if *is == label => Some(*node),
            _ => None,
        })
    }

    /// Returns the first token with a label.
    pub(super) fn token(&self, label: Label) -> Option<Token> {
        self.tokens(label).next()
    }

    /// Returns the first node with a label.
    pub(super) fn node(&self, label: Label) -> Option<NodeId> {
        self.nodes(label).next()
    }
}
