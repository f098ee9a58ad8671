//! The tree that the interpreter makes: one node per rule, with whatever was found of its parts.

use super::grammar::{Label, Rule};
use crate::lexer::Token;

/// A node's place in a [`Tree`].
pub(super) type NodeId = usize;

/// A part of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Child {
    /// A token; made up if one was missing that had to be there.
    Token(Token),
    /// The node of another rule.
    Node(NodeId),
}

/// A rule's node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) rule: Rule,
    /// Which alternative it is, from 1; 0 if an error came first. The operators of rules that are recursive to
    /// the left follow their one alternative.
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
    /// Tokens with a label.
    pub(super) fn tokens(&self, label: Label) -> impl Iterator<Item = Token> {
        self.children.iter().filter_map(move |(is, child)| match child {
            Child::Token(token) if *is == label => Some(*token),
            _ => None,
        })
    }

    /// Nodes with a label.
    pub(super) fn nodes(&self, label: Label) -> impl Iterator<Item = NodeId> {
        self.children.iter().filter_map(move |(is, child)| match child {
            Child::Node(node) if *is == label => Some(*node),
            _ => None,
        })
    }

    /// The first token with a label.
    pub(super) fn token(&self, label: Label) -> Option<Token> {
        self.tokens(label).next()
    }

    /// The first node with a label.
    pub(super) fn node(&self, label: Label) -> Option<NodeId> {
        self.nodes(label).next()
    }
}
