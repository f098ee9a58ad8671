//! Interpreter of the automaton. It has its own stack of open rules, so nesting does not use the call stack.

use super::super::Options;
use super::automaton::{Automaton, Id, Kind, Transition};
use super::grammar::{GRAMMAR, Label, RULES, Rule, one};
use super::predict::Predictor;
use super::state::{Decision, Frame, NoViableAlternative, Recovery, RuleError};
use super::tokens::{ParsingAborted, Tokens};
use super::tree::{Child, Tree};
use crate::source::{Errors, Source};

/// Interpreter state.
pub(super) struct Interpreter<'a> {
    pub(super) options: &'a Options,
    pub(super) automaton: &'a Automaton,
    pub(super) tokens: Tokens<'a>,
    pub(super) recovery: Recovery,
    /// Open rules, the innermost last.
    pub(super) frames: Vec<Frame>,
    /// State for error messages: the last one that expected a token.
    pub(super) state: Id,
    predictor: Predictor<'a>,
    tree: Tree,
    /// Nesting of each rule, as cel-go counts it.
    depths: [u32; RULES],
}

/// Parses a text. Returns no tree if parsing was aborted.
pub(super) fn run(source: &Source<'_>, options: &Options) -> (Option<Tree>, Errors) {
    let automaton = Automaton::new();
    let mut interpreter = Interpreter {
        options,
        automaton: &automaton,
        tokens: Tokens::new(source, options),
        recovery: Recovery::default(),
        frames: Vec::new(),
        state: 0,
        predictor: Predictor::new(&automaton),
        tree: Tree::default(),
        depths: [0; RULES],
    };
    let ended = interpreter.interpret().is_err();
    (if ended { None } else { Some(interpreter.tree) }, interpreter.tokens.errors)
}

impl Interpreter<'_> {
    fn interpret(&mut self) -> Result<(), ParsingAborted> {
        let mut at = self.enter(Rule::Start, 0, Label::Plain, 0)?;
        while !self.frames.is_empty() {
            at = match self.advance(at)? {
                Ok(next) => next,
                Err(error) => {
                    self.recover(error)?;
                    self.exit_rule()
                }
            };
        }
        Ok(())
    }

    /// Makes one transition.
    fn advance(&mut self, at: Id) -> Result<Result<Id, RuleError>, ParsingAborted> {
        let automaton = self.automaton;
        let state = automaton.state(at);
        match state.kind {
            Kind::Stop => return Ok(Ok(self.exit_rule())),
            Kind::Basic | Kind::BlockEnd => {}
            // Continue directly at the decision, without synchronizing a second time.
            Kind::LoopBack => {
                self.state = at;
                let _ = self.synchronize()?;
                let entry = target(&state.transitions[0]).unwrap_or(at);
                return self.choose(entry);
            }
            Kind::PlusLoopBack => {
                self.state = at;
                let _ = self.synchronize()?;
                return self.choose(at);
            }
            Kind::LoopBody if state.transitions.len() == 1 && !self.is_recursion_body(at) => {}
            Kind::LoopBody => return self.choose_operator(at),
            Kind::BlockStart | Kind::PlusStart | Kind::LoopEntry { .. } => {
                self.state = at;
                if let Some(error) = self.synchronize()? {
                    return Ok(Err(error));
                }
                if state.kind != Kind::PlusStart {
                    return self.choose(at);
                }
            }
        }
        match state.transitions[0] {
            Transition::Token(set, label, to) => {
                self.state = at;
                Ok(self.match_token(set, label)?.map_or(Ok(to), Err))
            }
            Transition::Call { rule, precedence, label, .. } => {
                self.state = at;
                self.enter(rule, precedence, label, at).map(Ok)
            }
            ref other => Ok(Ok(target(other).unwrap_or(at))),
        }
    }

    /// Chooses an alternative, by the next token or by prediction.
    fn choose(&mut self, at: Id) -> Result<Result<Id, RuleError>, ParsingAborted> {
        let automaton = self.automaton;
        let state = automaton.state(at);
        let alternative = if state.predicts { self.predict(at)? } else { self.choose_by_token(at)? };
        let alternative = match alternative {
            Ok(alternative) => alternative,
            Err(error) => return Ok(Err(error)),
        };
        if state.kind == (Kind::LoopEntry { recursion: true }) && alternative == 1 {
            self.close_depth(state.rule);
        }
        if self.is_rule_block(at) {
            self.set_alternative(alternative);
        }
        Ok(Ok(target(&state.transitions[alternative as usize - 1]).unwrap_or(at)))
    }

    fn choose_by_token(&mut self, at: Id) -> Result<Result<u8, RuleError>, ParsingAborted> {
        let automaton = self.automaton;
        let state = automaton.state(at);
        let token = self.tokens.current()?;
        let fits = |transition: &Transition| {
            target(transition).is_some_and(|to| automaton.state(to).next.0 & one(token.kind) != 0)
        };
        // For loops and optional parts the second transition means skipping; for a rule's alternatives one
        // must match.
        let is_rule_block = self.is_rule_block(at);
        let choices = if is_rule_block { state.transitions.len() } else { 1 };
        match state.transitions[..choices].iter().position(fits) {
            Some(place) => Ok(Ok(place as u8 + 1)),
            None if is_rule_block => {
                Ok(Err(RuleError::NoViable(NoViableAlternative { start: token, offending: token })))
            }
            None => Ok(Ok(2)),
        }
    }

    fn predict(&mut self, at: Id) -> Result<Result<u8, RuleError>, ParsingAborted> {
        let precedence =
            self.frames.iter().rev().find(|frame| self.is_recursive(frame)).map_or(0, |f| f.precedence);
        let decision = Decision { state: at, precedence, frames: &self.frames };
        let predicted = self.predictor.predict(&mut self.tokens, decision)?;
        Ok(predicted.map_err(RuleError::NoViable))
    }

    /// Returns true for a left-recursive rule; only those have a precedence.
    fn is_recursive(&self, frame: &Frame) -> bool {
        matches!(self.tree.nodes[frame.node].rule, Rule::Relation | Rule::Calc | Rule::Member)
    }

    fn is_recursion_body(&self, at: Id) -> bool {
        let first = target(&self.automaton.state(at).transitions[0]);
        first.is_some_and(|first| {
            matches!(self.automaton.state(first).transitions[0], Transition::Precedence(..))
        })
    }

    /// Chooses an operator of a left-recursive rule, whose node becomes the first operand.
    fn choose_operator(&mut self, at: Id) -> Result<Result<Id, RuleError>, ParsingAborted> {
        let automaton = self.automaton;
        let state = automaton.state(at);
        let mut alternative = 1;
        if state.transitions.len() > 1 {
            self.state = at;
            if let Some(error) = self.synchronize()? {
                return Ok(Err(error));
            }
            match self.predict(at)? {
                Ok(predicted) => alternative = predicted,
                Err(error) => return Ok(Err(error)),
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            let start = self.tree.nodes[frame.node].start;
            let outer = self.tree.add(state.rule, alternative + 1, start);
            self.tree.nodes[outer].children.push((Label::First, Child::Node(frame.node)));
            frame.node = outer;
        }
        self.open_depth(state.rule)?;
        Ok(Ok(target(&state.transitions[alternative as usize - 1]).unwrap_or(at)))
    }

    fn enter(&mut self, rule: Rule, precedence: u8, label: Label, caller: Id) -> Result<Id, ParsingAborted> {
        let start = self.tokens.current()?;
        let alternative = u8::from(has_one_alternative(rule));
        let node = self.tree.add(rule, alternative, start);
        self.frames.push(Frame { caller, label, precedence, node });
        self.open_depth(rule)?;
        Ok(self.automaton.starts[rule as usize])
    }

    /// Returns true for the decision between a rule's alternatives.
    fn is_rule_block(&self, at: Id) -> bool {
        let rule = self.automaton.state(at).rule;
        self.automaton.starts[rule as usize] == at && !has_one_alternative(rule)
    }

    /// Closes the innermost rule and returns the state after its call.
    fn exit_rule(&mut self) -> Id {
        let Some(frame) = self.frames.pop() else { return self.state };
        self.close_depth(self.tree.nodes[frame.node].rule);
        self.child(frame.label, Child::Node(frame.node));
        self.automaton.follow(frame.caller)
    }

    /// Adds a part to the innermost rule's node.
    pub(super) fn child(&mut self, label: Label, child: Child) {
        if let Some(frame) = self.frames.last() {
            self.tree.nodes[frame.node].children.push((label, child));
        }
    }

    fn set_alternative(&mut self, alternative: u8) {
        if let Some(frame) = self.frames.last() {
            self.tree.nodes[frame.node].alternative = alternative;
        }
    }

    fn open_depth(&mut self, rule: Rule) -> Result<(), ParsingAborted> {
        self.depths[rule as usize] += 1;
        let limit = self.options.max_depth;
        if self.depths[rule as usize] > limit {
            return self.tokens.end(format!("expression recursion limit exceeded: {limit}"));
        }
        Ok(())
    }

    fn close_depth(&mut self, rule: Rule) {
        let depth = &mut self.depths[rule as usize];
        *depth = depth.saturating_sub(1);
    }
}

fn has_one_alternative(rule: Rule) -> bool {
    GRAMMAR[rule as usize].alternatives.len() == 1
}

fn target(transition: &Transition) -> Option<Id> {
    match transition {
        Transition::Epsilon(to) | Transition::Precedence(_, to) => Some(*to),
        _ => None,
    }
}
