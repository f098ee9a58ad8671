//! Prediction of the alternative that matches the next tokens. The first attempt ignores the callers of the
//! rule. If several alternatives remain, a second attempt uses the real call stack.

use std::collections::{BTreeMap, HashMap};

use super::automaton::{Automaton, Id, Kind};
use super::context::{Context, Contexts, EMPTY};
use super::state::{Config, Decision, NoViableAlternative, unique};
use super::tokens::{ParsingAborted, Tokens};
use crate::lexer::Kind as TokenKind;

/// Maximum number of configurations visited by all predictions of one text. Deeply nested calls on negative
/// numbers make every prediction read to the end; without a bound the work would be quadratic.
const MAX_WORK: usize = 5_000_000;

/// Result of one token on a configuration set.
#[derive(Clone, Copy, Debug)]
enum Step {
    NoViableAlternative,
    ConfigSet(usize),
    Alternative(u8),
    Conflict,
}

/// State shared by all predictions of one text.
pub(super) struct Predictor<'a> {
    pub(super) automaton: &'a Automaton,
    pub(super) contexts: Contexts,
    sets: Vec<Vec<Config>>,
    index: HashMap<Vec<Config>, usize>,
    starts: HashMap<(Id, u8, Context, bool), usize>,
    steps: HashMap<(usize, TokenKind, bool), Step>,
    pub(super) work: usize,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(automaton: &'a Automaton) -> Predictor<'a> {
        Predictor {
            automaton,
            contexts: Contexts::new(),
            sets: Vec::new(),
            index: HashMap::new(),
            starts: HashMap::new(),
            steps: HashMap::new(),
            work: 0,
        }
    }

    /// Predicts an alternative, numbered from 1. Reads tokens without moving the position.
    pub(super) fn predict(
        &mut self,
        tokens: &mut Tokens<'_>,
        decision: Decision<'_>,
    ) -> Result<Result<u8, NoViableAlternative>, ParsingAborted> {
        self.look_ahead(tokens, decision, false)
    }

    /// Reads tokens until one alternative remains. With `full`, uses the real call stack.
    fn look_ahead(
        &mut self,
        tokens: &mut Tokens<'_>,
        decision: Decision<'_>,
        full: bool,
    ) -> Result<Result<u8, NoViableAlternative>, ParsingAborted> {
        let start = tokens.current()?;
        let mut at = tokens.index;
        let mut set = self.start(decision, full);
        loop {
            if self.work > MAX_WORK {
                return tokens.end("expression takes too long to parse".to_owned());
            }
            let token = tokens.get(at)?;
            match self.step(set, token.kind, full) {
                Step::Alternative(alternative) => return Ok(Ok(alternative)),
                Step::Conflict => return self.look_ahead(tokens, decision, true),
                Step::NoViableAlternative => {
                    // In full-context mode ANTLR has already seeked back to the first token.
                    let offending = if full { start } else { token };
                    return Ok(self
                        .finished(&self.sets[set])
                        .ok_or(NoViableAlternative { start, offending }));
                }
                Step::ConfigSet(next) => set = next,
            }
            at += usize::from(token.kind != TokenKind::Eof);
        }
    }

    fn start(&mut self, decision: Decision<'_>, full: bool) -> usize {
        let automaton = self.automaton;
        let callers = if full { decision.frames.get(1..).unwrap_or_default() } else { &[] };
        let returns = callers.iter().map(|frame| automaton.follow(frame.caller));
        let stack = returns.fold(EMPTY, |below, to| self.contexts.push(below, to));
        let key = (decision.state, decision.precedence, stack, full);
        if let Some(set) = self.starts.get(&key) {
            return *set;
        }
        let mut configs = self.closure_of_alternatives(decision, stack, full);
        if !full && automaton.state(decision.state).kind == (Kind::LoopEntry { recursion: true }) {
            configs = prefer_first(configs);
        }
        let set = self.intern(configs);
        self.starts.insert(key, set);
        set
    }

    fn intern(&mut self, configs: Vec<Config>) -> usize {
        if let Some(set) = self.index.get(&configs) {
            return *set;
        }
        self.sets.push(configs.clone());
        self.index.insert(configs, self.sets.len() - 1);
        self.sets.len() - 1
    }

    fn step(&mut self, set: usize, kind: TokenKind, full: bool) -> Step {
        self.work += 1;
        if let Some(step) = self.steps.get(&(set, kind, full)) {
            return *step;
        }
        let from = self.sets[set].clone();
        let reached = self.reach(&from, kind, full);
        let single = if full { single_viable(&subsets(&reached)) } else { None };
        let step = if reached.is_empty() {
            Step::NoViableAlternative
        } else if let Some(alternative) = unique(&reached).or(single) {
            Step::Alternative(alternative)
        } else if !full && self.is_conflict(&reached) {
            Step::Conflict
        } else {
            Step::ConfigSet(self.intern(reached))
        };
        self.steps.insert((set, kind, full), step);
        step
    }

    /// Returns true if more tokens cannot help without the real call stack: two alternatives share a
    /// configuration, and no state belongs to a single alternative.
    fn is_conflict(&self, configs: &[Config]) -> bool {
        if configs.iter().all(|config| self.is_stop(config.state)) {
            return true;
        }
        let mut by_state: BTreeMap<Id, u32> = BTreeMap::new();
        for config in configs {
            *by_state.entry(config.state).or_default() |= 1 << config.alternative;
        }
        let meets = subsets(configs).iter().any(|alternatives| alternatives.count_ones() > 1);
        meets && by_state.values().all(|alternatives| alternatives.count_ones() > 1)
    }

    pub(super) fn is_stop(&self, state: Id) -> bool {
        self.automaton.state(state).kind == Kind::Stop
    }

    /// Returns the smallest alternative that reached the end of the rule, when no token matches any more.
    fn finished(&self, configs: &[Config]) -> Option<u8> {
        let ended = |config: &&Config| {
            config.outside || (self.is_stop(config.state) && self.contexts.has_empty(config.stack))
        };
        configs.iter().filter(ended).map(|config| config.alternative).min()
    }
}

/// Drops configurations that later alternatives share with the first one.
fn prefer_first(configs: Vec<Config>) -> Vec<Config> {
    let first: HashMap<Id, Context> = configs
        .iter()
        .filter(|config| config.alternative == 1)
        .map(|config| (config.state, config.stack))
        .collect();
    let stays = |config: &Config| {
        config.alternative == 1
            || config.precedence_filter_suppressed
            || first.get(&config.state).is_none_or(|stack| *stack != config.stack)
    };
    configs.into_iter().filter(stays).collect()
}

/// Returns the alternatives of each state and stack, as bit sets.
fn subsets(configs: &[Config]) -> Vec<u32> {
    let mut places: BTreeMap<(Id, Context), u32> = BTreeMap::new();
    for config in configs {
        *places.entry((config.state, config.stack)).or_default() |= 1 << config.alternative;
    }
    places.into_values().collect()
}

/// Returns the alternative that is the smallest one in every subset.
fn single_viable(subsets: &[u32]) -> Option<u8> {
    let first = subsets.first()?.trailing_zeros();
    subsets.iter().all(|alternatives| alternatives.trailing_zeros() == first).then_some(first as u8)
}
