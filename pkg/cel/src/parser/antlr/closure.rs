//! States that the automaton reaches without a token and after one.

use std::collections::{HashMap, HashSet};

use super::automaton::{Id, Kind, Transition};
use super::context::{Context, Contexts, EMPTY};
use super::grammar::{Rule, one};
use super::predict::Predictor;
use super::state::{Config, Decision, unique};
use crate::lexer::Kind as TokenKind;

/// A configuration set under construction: one entry per state and alternative, with merged stacks.
struct Configs {
    list: Vec<Config>,
    indices: HashMap<(Id, u8), usize>,
    full: bool,
}

impl Configs {
    fn new(full: bool) -> Configs {
        Configs { list: Vec::new(), indices: HashMap::new(), full }
    }

    fn add(&mut self, config: Config, contexts: &mut Contexts) {
        let place = *self.indices.entry((config.state, config.alternative)).or_insert(self.list.len());
        if place == self.list.len() {
            return self.list.push(config);
        }
        let existing = &mut self.list[place];
        existing.stack = contexts.merge(existing.stack, config.stack, !self.full);
        existing.outside |= config.outside;
        existing.precedence_filter_suppressed |= config.precedence_filter_suppressed;
    }
}

/// Parameters of a closure.
#[derive(Clone, Copy)]
struct Mode {
    /// The decision, at whose start precedences are filtered.
    decision: Option<(Id, u8)>,
    /// True for full-context prediction with the real call stack.
    full: bool,
    /// True after the end of the text.
    at_end: bool,
}

impl Predictor<'_> {
    pub(super) fn closure_of_alternatives(
        &mut self,
        decision: Decision<'_>,
        stack: Context,
        full: bool,
    ) -> Vec<Config> {
        let mut configs = Configs::new(full);
        let mode = Mode { decision: Some((decision.state, decision.precedence)), full, at_end: false };
        for (place, transition) in self.automaton.state(decision.state).transitions.iter().enumerate() {
            if let Transition::Epsilon(state) = transition {
                let alternative = place as u8 + 1;
                let config = Config {
                    state: *state,
                    alternative,
                    stack,
                    outside: false,
                    precedence_filter_suppressed: false,
                };
                self.closure(config, &mut configs, &mut HashSet::new(), mode);
            }
        }
        configs.list
    }

    /// Returns the configurations after a token.
    pub(super) fn reach(&mut self, from: &[Config], kind: TokenKind, full: bool) -> Vec<Config> {
        let at_end = kind == TokenKind::Eof;
        let mut direct = Configs::new(full);
        let mut stopped = Vec::new();
        for config in from {
            if self.is_stop(config.state) {
                stopped.extend((full || at_end).then_some(*config));
                continue;
            }
            for transition in &self.automaton.state(config.state).transitions {
                if let Transition::Token(set, _, state) = transition
                    && set & one(kind) != 0
                {
                    direct.add(Config { state: *state, ..*config }, &mut self.contexts);
                }
            }
        }
        if stopped.is_empty() && !at_end && unique(&direct.list).is_some() {
            return direct.list;
        }
        let mut reached = Configs::new(full);
        let mut busy = HashSet::new();
        for config in direct.list {
            self.closure(config, &mut reached, &mut busy, Mode { decision: None, full, at_end });
        }
        if at_end {
            let automaton = self.automaton;
            let all = std::mem::replace(&mut reached, Configs::new(full));
            let ended = |config: &Config| automaton.state(config.state).kind == Kind::Stop;
            all.list.into_iter().filter(ended).for_each(|config| reached.add(config, &mut self.contexts));
        }
        if !full || !reached.list.iter().any(|config| self.is_stop(config.state)) {
            for config in stopped {
                reached.add(config, &mut self.contexts);
            }
        }
        reached.list
    }

    /// Adds all configurations that are reachable without a token.
    fn closure(&mut self, from: Config, into: &mut Configs, busy: &mut HashSet<Config>, mode: Mode) {
        // Call depth; negative below the rule of the decision. As in ANTLR's Go runtime, returns to known
        // callers do not count.
        let mut open: Vec<(Config, i32)> = vec![(from, 0)];
        while let Some((config, depth)) = open.pop() {
            self.work += 1;
            if !self.is_stop(config.state) || (config.stack == EMPTY && !mode.full) {
                self.closure_step(config, depth, &mut open, into, busy, mode);
                continue;
            }
            if config.stack == EMPTY {
                into.add(config, &mut self.contexts);
                continue;
            }
            let tops: Vec<_> = self.contexts.tops(config.stack).collect();
            for top in tops {
                match top {
                    Some((state, stack)) => open.push((
                        Config { state, stack, precedence_filter_suppressed: false, ..config },
                        depth,
                    )),
                    None if mode.full => into.add(Config { stack: EMPTY, ..config }, &mut self.contexts),
                    None => self.closure_step(config, depth, &mut open, into, busy, mode),
                }
            }
        }
    }

    /// Follows the transitions of a state that need no token.
    fn closure_step(
        &mut self,
        config: Config,
        depth: i32,
        open: &mut Vec<(Config, i32)>,
        into: &mut Configs,
        busy: &mut HashSet<Config>,
        mode: Mode,
    ) {
        let automaton = self.automaton;
        let state = automaton.state(config.state);
        if state.transitions.is_empty() || state.transitions.iter().any(|transition| !transition.is_epsilon())
        {
            into.add(config, &mut self.contexts);
        }
        let skipped = usize::from(self.is_inner_loop(config));
        for transition in state.transitions.iter().skip(skipped) {
            let next = match transition {
                Transition::Epsilon(state) => (Config { state: *state, ..config }, depth),
                Transition::Precedence(level, state) => {
                    let current = mode.decision.filter(|_| depth == 0).map(|(_, precedence)| precedence);
                    if current.is_some_and(|current| *level < current) {
                        continue;
                    }
                    (Config { state: *state, ..config }, depth)
                }
                Transition::Call { rule, follow, .. } => {
                    let stack = self.contexts.push(config.stack, *follow);
                    let state = automaton.starts[*rule as usize];
                    (Config { state, stack, ..config }, if depth >= 0 { depth + 1 } else { depth })
                }
                Transition::Return { follow, outermost } => {
                    let precedence_filter_suppressed = config.precedence_filter_suppressed
                        || (*outermost && self.is_recursion_of(mode, state.rule));
                    let next =
                        Config { state: *follow, outside: true, precedence_filter_suppressed, ..config };
                    if !busy.insert(next) {
                        continue;
                    }
                    (next, depth - 1)
                }
                Transition::Token(set, _, state) => {
                    let next = Config { state: *state, ..config };
                    if !mode.at_end || set & one(TokenKind::Eof) == 0 || !busy.insert(next) {
                        continue;
                    }
                    (next, depth)
                }
            };
            open.push(next);
        }
    }

    /// Returns true if the decision is the left-recursion loop of this rule.
    fn is_recursion_of(&self, mode: Mode, rule: Rule) -> bool {
        mode.decision.is_some_and(|(state, _)| {
            let state = self.automaton.state(state);
            state.rule == rule && state.kind == (Kind::LoopEntry { recursion: true })
        })
    }

    /// Returns true for the entry of a recursion loop in a rule that was called from the same loop further
    /// out. The outer loop then takes the next operator.
    fn is_inner_loop(&self, config: Config) -> bool {
        let automaton = self.automaton;
        if automaton.state(config.state).kind != (Kind::LoopEntry { recursion: true })
            || self.contexts.has_empty(config.stack)
        {
            return false;
        }
        let only_way = |id: Id| match automaton.state(id).transitions[..] {
            [Transition::Epsilon(to)] => Some(to),
            _ => None,
        };
        self.contexts.tops(config.stack).flatten().all(|(return_to, _)| {
            let back = only_way(return_to).filter(|_| automaton.state(return_to).kind == Kind::BlockEnd);
            let back = back.filter(|back| automaton.state(*back).kind == Kind::LoopBack);
            back.and_then(only_way) == Some(config.state)
        })
    }
}
