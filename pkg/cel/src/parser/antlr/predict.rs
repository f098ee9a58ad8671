//! Prediction: which alternative of a choice the tokens ahead lead to. First without regard to who called the
//! rule, and, if that leaves several, once more with the real stack of calls.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::automaton::{Automaton, Id, Kind, Transition};
use super::context::{Context, Contexts, EMPTY};
use super::grammar::{Rule, one};
use super::tokens::{Ended, Tokens};
use crate::lexer::{Kind as TokenKind, Token};

/// Configurations that the predictions of one text may look at. Deeply nested calls on negative numbers make
/// every prediction read to the end; without a bound that would be quadratic work.
const MAX_WORK: usize = 5_000_000;

/// A place where the automaton can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Config {
    state: Id,
    /// The alternative that led here, from 1.
    alternative: u8,
    stack: Context,
    /// Whether it got here through the end of the rule in which the choice is.
    outside: bool,
    /// Whether it may not be dropped in favour of the first alternative at the start of a recursion's loop.
    keep: bool,
}

/// No alternative fits.
#[derive(Debug)]
pub(super) struct NoViableAlternative {
    pub(super) start: Token,
    pub(super) offending: Token,
}

/// A choice that is to be made, and where the parser stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision<'a> {
    /// The state that has the alternatives.
    pub(super) state: Id,
    /// The precedence with which the current rule was called.
    pub(super) precedence: u8,
    /// Where the open rules return to, the innermost last.
    pub(super) returns: &'a [Id],
}

/// Where one token leads to from a set of configurations.
#[derive(Clone, Copy, Debug)]
enum Step {
    Nowhere,
    To(usize),
    Alternative(u8),
    Conflict,
}

/// What predictions share within one text.
pub(super) struct Predictor<'a> {
    automaton: &'a Automaton,
    contexts: Contexts,
    sets: Vec<Vec<Config>>,
    index: HashMap<Vec<Config>, usize>,
    starts: HashMap<(Id, u8), usize>,
    steps: HashMap<(usize, TokenKind), Step>,
    work: usize,
}

/// Configurations on their way into a set: one for each state and alternative, their stacks merged.
struct Configs {
    list: Vec<Config>,
    places: HashMap<(Id, u8), usize>,
    full: bool,
}

impl Configs {
    fn new(full: bool) -> Configs {
        Configs { list: Vec::new(), places: HashMap::new(), full }
    }

    fn add(&mut self, config: Config, contexts: &mut Contexts) {
        let place = *self.places.entry((config.state, config.alternative)).or_insert(self.list.len());
        if place == self.list.len() {
            return self.list.push(config);
        }
        let known = &mut self.list[place];
        known.stack = contexts.merge(known.stack, config.stack, !self.full);
        known.outside |= config.outside;
        known.keep |= config.keep;
    }
}

/// How a closure is computed.
#[derive(Clone, Copy)]
struct Mode {
    /// The choice, at whose start precedences are looked at.
    decision: Option<(Id, u8)>,
    /// Whether stacks are the real ones.
    full: bool,
    /// Whether the end of the text has been passed.
    at_end: bool,
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

    /// The alternative, from 1. Tokens are read, the position is left alone.
    pub(super) fn predict(
        &mut self,
        tokens: &mut Tokens<'_>,
        decision: Decision<'_>,
    ) -> Result<Result<u8, NoViableAlternative>, Ended> {
        let start = tokens.current()?;
        let mut at = tokens.index;
        let mut set = self.start(decision);
        loop {
            if self.work > MAX_WORK {
                return tokens.end("expression takes too long to parse".to_owned());
            }
            let token = tokens.get(at)?;
            match self.step(set, token.kind) {
                Step::Alternative(alternative) => return Ok(Ok(alternative)),
                Step::Conflict => return self.predict_full(tokens, decision),
                Step::Nowhere => {
                    let finished = self.finished(&self.sets[set]);
                    return Ok(finished.ok_or(NoViableAlternative { start, offending: token }));
                }
                Step::To(next) => set = next,
            }
            at += usize::from(token.kind != TokenKind::Eof);
        }
    }

    /// The same with the real stack of calls.
    fn predict_full(
        &mut self,
        tokens: &mut Tokens<'_>,
        decision: Decision<'_>,
    ) -> Result<Result<u8, NoViableAlternative>, Ended> {
        let start = tokens.current()?;
        let mut at = tokens.index;
        let stack = decision.returns.iter().fold(EMPTY, |below, to| self.contexts.push(below, *to));
        let mut set = self.closure_of_alternatives(decision, stack, true);
        loop {
            if self.work > MAX_WORK {
                return tokens.end("expression takes too long to parse".to_owned());
            }
            let token = tokens.get(at)?;
            let reached = self.reach(&set, token.kind, true);
            if reached.is_empty() {
                // ANTLR has gone back to the first token by then, which is therefore the offending one.
                return Ok(self.finished(&set).ok_or(NoViableAlternative { start, offending: start }));
            }
            let decided = unique(&reached).or_else(|| single_viable(&subsets(&reached)));
            if let Some(alternative) = decided {
                return Ok(Ok(alternative));
            }
            set = reached;
            at += usize::from(token.kind != TokenKind::Eof);
        }
    }

    fn start(&mut self, decision: Decision<'_>) -> usize {
        let key = (decision.state, decision.precedence);
        if let Some(set) = self.starts.get(&key) {
            return *set;
        }
        let mut configs = self.closure_of_alternatives(decision, EMPTY, false);
        if self.automaton.state(decision.state).kind == (Kind::LoopEntry { recursion: true }) {
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

    fn step(&mut self, set: usize, kind: TokenKind) -> Step {
        if let Some(step) = self.steps.get(&(set, kind)) {
            return *step;
        }
        let from = self.sets[set].clone();
        let reached = self.reach(&from, kind, false);
        let step = if reached.is_empty() {
            Step::Nowhere
        } else if let Some(alternative) = unique(&reached) {
            Step::Alternative(alternative)
        } else if self.is_conflict(&reached) {
            Step::Conflict
        } else {
            Step::To(self.intern(reached))
        };
        self.steps.insert((set, kind), step);
        step
    }

    /// Whether more tokens would not help without the real stack: two alternatives meet in one place, and no
    /// state belongs to one alternative alone.
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

    fn is_stop(&self, state: Id) -> bool {
        self.automaton.state(state).kind == Kind::Stop
    }

    /// The least alternative that has got to the end of the rule, when nothing fits any more.
    fn finished(&self, configs: &[Config]) -> Option<u8> {
        let ended = |config: &&Config| {
            config.outside || (self.is_stop(config.state) && self.contexts.has_empty(config.stack))
        };
        configs.iter().filter(ended).map(|config| config.alternative).min()
    }

    fn closure_of_alternatives(&mut self, decision: Decision<'_>, stack: Context, full: bool) -> Vec<Config> {
        let mut configs = Configs::new(full);
        let mode = Mode { decision: Some((decision.state, decision.precedence)), full, at_end: false };
        for (place, transition) in self.automaton.state(decision.state).transitions.iter().enumerate() {
            if let Transition::Epsilon(state) = transition {
                let alternative = place as u8 + 1;
                let config = Config { state: *state, alternative, stack, outside: false, keep: false };
                self.closure(config, &mut configs, &mut HashSet::new(), mode);
            }
        }
        configs.list
    }

    /// Where a token leads to.
    fn reach(&mut self, from: &[Config], kind: TokenKind, full: bool) -> Vec<Config> {
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

    /// Adds to a set all places that can be got to without a token.
    fn closure(&mut self, from: Config, into: &mut Configs, busy: &mut HashSet<Config>, mode: Mode) {
        // How deep in calls; none below the rule of the choice. Returns to known callers do not count, which is
        // ANTLR's way in Go.
        let mut open: Vec<(Config, i32)> = vec![(from, 0)];
        while let Some((config, depth)) = open.pop() {
            self.work += 1;
            if !self.is_stop(config.state) || (config.stack == EMPTY && !mode.full) {
                self.leave(config, depth, &mut open, (into, busy), mode);
                continue;
            }
            if config.stack == EMPTY {
                into.add(config, &mut self.contexts);
                continue;
            }
            let tops: Vec<_> = self.contexts.tops(config.stack).collect();
            for top in tops {
                match top {
                    Some((state, stack)) => {
                        open.push((Config { state, stack, keep: false, ..config }, depth))
                    }
                    None if mode.full => into.add(Config { stack: EMPTY, ..config }, &mut self.contexts),
                    None => self.leave(config, depth, &mut open, (into, busy), mode),
                }
            }
        }
    }

    /// Follows the ways out of a state that need no token.
    fn leave(
        &mut self,
        config: Config,
        depth: i32,
        open: &mut Vec<(Config, i32)>,
        (into, busy): (&mut Configs, &mut HashSet<Config>),
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
                    let keep = config.keep || (*outermost && self.is_recursion_of(mode, state.rule));
                    let next = Config { state: *follow, outside: true, keep, ..config };
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

    /// Whether the choice is the loop of this rule's recursion to the left.
    fn is_recursion_of(&self, mode: Mode, rule: Rule) -> bool {
        mode.decision.is_some_and(|(state, _)| {
            let state = self.automaton.state(state);
            state.rule == rule && state.kind == (Kind::LoopEntry { recursion: true })
        })
    }

    /// Whether this is the entry of a recursion's loop in a rule that was called from the same loop further out,
    /// which then takes the next operator.
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

/// Drops what later alternatives have in common with the first one.
fn prefer_first(configs: Vec<Config>) -> Vec<Config> {
    let first: HashMap<Id, Context> = configs
        .iter()
        .filter(|config| config.alternative == 1)
        .map(|config| (config.state, config.stack))
        .collect();
    let stays = |config: &Config| {
        config.alternative == 1
            || config.keep
            || first.get(&config.state).is_none_or(|stack| *stack != config.stack)
    };
    configs.into_iter().filter(stays).collect()
}

fn unique(configs: &[Config]) -> Option<u8> {
    let first = configs.first()?.alternative;
    configs.iter().all(|config| config.alternative == first).then_some(first)
}

/// For each place the set of alternatives that lead there, as bits.
fn subsets(configs: &[Config]) -> Vec<u32> {
    let mut places: BTreeMap<(Id, Context), u32> = BTreeMap::new();
    for config in configs {
        *places.entry((config.state, config.stack)).or_default() |= 1 << config.alternative;
    }
    places.into_values().collect()
}

/// The alternative that is the least one in every place.
fn single_viable(subsets: &[u32]) -> Option<u8> {
    let first = subsets.first()?.trailing_zeros();
    subsets.iter().all(|alternatives| alternatives.trailing_zeros() == first).then_some(first as u8)
}
