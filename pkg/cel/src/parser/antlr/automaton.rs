//! The automaton of the grammar, with the states and transitions that ANTLR creates. If the last state of a
//! call is the end of a block, the call returns to that block end. Equality of prediction contexts, and with
//! it the lookahead, depends on this.

use super::grammar::{DECIDED_BY_ONE_TOKEN, Element, GRAMMAR, Label, RULES, Rule, Set};

/// Index into [`Automaton::states`].
pub(super) type Id = u16;

/// Kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Has one transition.
    Basic,
    /// Start of a choice between alternatives.
    BlockStart,
    /// Start of a loop body.
    LoopBody,
    /// Start of a loop with at least one iteration.
    PlusStart,
    /// Decision to repeat a loop with at least one iteration.
    PlusLoopBack,
    /// Decision to enter or repeat a loop; `recursion` is true for a left recursion.
    LoopEntry {
        /// True for a left recursion.
        recursion: bool,
    },
    /// State after the body of a loop.
    LoopBack,
    BlockEnd,
    /// The end of a rule.
    Stop,
}

/// A transition out of a state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transition {
    /// Consumes no token.
    Epsilon(Id),
    /// Consumes a token of the set.
    Token(Set, Label, Id),
    /// Runs another rule and continues at `follow`.
    Call { rule: Rule, precedence: u8, label: Label, follow: Id },
    /// Allowed if the rule was called with at most this precedence.
    Precedence(u8, Id),
    /// From the end of a rule to the state after one of its calls, when the caller is unknown. `outermost` is
    /// true if the rule is left-recursive and was called from another rule.
    Return { follow: Id, outermost: bool },
}

impl Transition {
    fn target(&self) -> Option<Id> {
        match self {
            Transition::Epsilon(to) | Transition::Precedence(_, to) => Some(*to),
            _ => None,
        }
    }

    /// Returns true if the transition itself consumes no token.
    pub(super) fn is_epsilon(&self) -> bool {
        !matches!(self, Transition::Token(..))
    }
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) kind: Kind,
    pub(super) rule: Rule,
    pub(super) transitions: Vec<Transition>,
    /// True if prediction makes the choice instead of a single token.
    pub(super) predicts: bool,
    /// Tokens that can come next within the rule, and true if the rule can end here.
    pub(super) next: (Set, bool),
}

pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) starts: [Id; RULES],
    stops: [Id; RULES],
}

impl Automaton {
    /// Builds the automaton of CEL's grammar.
    pub(super) fn new() -> Automaton {
        let mut automaton =
            Automaton { states: Vec::with_capacity(320), starts: [0; RULES], stops: [0; RULES] };
        for (index, definition) in GRAMMAR.iter().enumerate() {
            let rule = RULE_ORDER[index];
            let stop = automaton.add(rule, Kind::Stop, Vec::new());
            let end = if definition.operators.is_empty() { stop } else { automaton.recursion(rule, stop) };
            automaton.stops[index] = stop;
            automaton.starts[index] = match definition.alternatives {
                [only] => {
                    let last = automaton.add(rule, Kind::Basic, vec![Transition::Epsilon(end)]);
                    automaton.sequence(rule, only, last)
                }
                several => {
                    let start = automaton.block(rule, several, end);
                    automaton.states[start as usize].predicts = rule != DECIDED_BY_ONE_TOKEN;
                    start
                }
            };
        }
        automaton.link_returns();
        automaton.compute_next();
        automaton
    }

    pub(super) fn state(&self, id: Id) -> &State {
        &self.states[id as usize]
    }

    /// Returns the follow state of the call that is a state's only transition.
    pub(super) fn follow(&self, id: Id) -> Id {
        match self.state(id).transitions.first() {
            Some(Transition::Call { follow, .. }) => *follow,
            _ => id,
        }
    }

    fn add(&mut self, rule: Rule, kind: Kind, transitions: Vec<Transition>) -> Id {
        self.states.push(State { kind, rule, transitions, predicts: false, next: (0, false) });
        self.states.len() as Id - 1
    }

    /// Adds the operator loop of a left-recursive rule.
    fn recursion(&mut self, rule: Rule, stop: Id) -> Id {
        let entry = self.add(rule, Kind::LoopEntry { recursion: true }, Vec::new());
        let back = self.add(rule, Kind::LoopBack, vec![Transition::Epsilon(entry)]);
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(back)]);
        let mut alternatives = Vec::new();
        for (precedence, parts) in GRAMMAR[rule as usize].operators {
            let first = self.sequence(rule, parts, end);
            let guard = self.add(rule, Kind::Basic, vec![Transition::Precedence(*precedence, first)]);
            alternatives.push(Transition::Epsilon(guard));
        }
        let body = self.add(rule, Kind::LoopBody, alternatives);
        let exit = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(stop)]);
        self.states[body as usize].predicts = true;
        self.states[entry as usize].predicts = true;
        self.states[entry as usize].transitions = vec![Transition::Epsilon(body), Transition::Epsilon(exit)];
        entry
    }

    /// Adds alternatives that end at a state.
    fn block(&mut self, rule: Rule, alternatives: &[&[Element]], to: Id) -> Id {
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
        let firsts: Vec<Transition> =
            alternatives.iter().map(|parts| Transition::Epsilon(self.sequence(rule, parts, end))).collect();
        self.add(rule, Kind::BlockStart, firsts)
    }

    /// Adds consecutive parts that end at a state.
    fn sequence(&mut self, rule: Rule, parts: &[Element], to: Id) -> Id {
        parts.iter().rev().fold(to, |to, part| match part {
            Element::Token(set, label) => {
                self.add(rule, Kind::Basic, vec![Transition::Token(*set, *label, to)])
            }
            Element::Rule(called, precedence, label) => {
                let precedence = *precedence;
                let label = *label;
                let call = Transition::Call { rule: *called, precedence, label, follow: to };
                self.add(rule, Kind::Basic, vec![call])
            }
            Element::Maybe(parts) => {
                let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
                let first = self.sequence(rule, parts, end);
                self.add(rule, Kind::BlockStart, vec![Transition::Epsilon(first), Transition::Epsilon(end)])
            }
            Element::Many(parts) => self.star(rule, parts, to, false),
            Element::ManyAhead(parts) => self.star(rule, parts, to, true),
            Element::Some(parts) => self.plus(rule, parts, to, false),
            Element::SomeAhead(parts) => self.plus(rule, parts, to, true),
        })
    }

    fn star(&mut self, rule: Rule, parts: &[Element], to: Id, predicts: bool) -> Id {
        let entry = self.add(rule, Kind::LoopEntry { recursion: false }, Vec::new());
        let back = self.add(rule, Kind::LoopBack, vec![Transition::Epsilon(entry)]);
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(back)]);
        let first = self.sequence(rule, parts, end);
        let body = self.add(rule, Kind::LoopBody, vec![Transition::Epsilon(first)]);
        let exit = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
        self.states[entry as usize].predicts = predicts;
        self.states[entry as usize].transitions = vec![Transition::Epsilon(body), Transition::Epsilon(exit)];
        entry
    }

    fn plus(&mut self, rule: Rule, parts: &[Element], to: Id, predicts: bool) -> Id {
        let back = self.add(rule, Kind::PlusLoopBack, Vec::new());
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(back)]);
        let first = self.sequence(rule, parts, end);
        let start = self.add(rule, Kind::PlusStart, vec![Transition::Epsilon(first)]);
        let exit = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
        self.states[back as usize].predicts = predicts;
        self.states[back as usize].transitions = vec![Transition::Epsilon(start), Transition::Epsilon(exit)];
        start
    }

    /// Adds transitions from the ends of rules to the states after their calls.
    fn link_returns(&mut self) {
        for id in 0..self.states.len() {
            let Some(Transition::Call { rule, precedence, follow, .. }) =
                self.states[id].transitions.first().copied()
            else {
                continue;
            };
            let outermost = precedence == 0 && !GRAMMAR[rule as usize].operators.is_empty();
            let stop = self.stops[rule as usize] as usize;
            self.states[stop].transitions.push(Transition::Return { follow, outermost });
        }
    }

    /// Computes the next tokens of every state, as a fixed point.
    fn compute_next(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for id in 0..self.states.len() {
                let next = self.next_of(id);
                changed |= next != self.states[id].next;
                self.states[id].next = next;
            }
        }
    }

    fn next_of(&self, id: usize) -> (Set, bool) {
        let state = &self.states[id];
        if state.kind == Kind::Stop {
            return (0, true);
        }
        let mut next = (0, false);
        for transition in &state.transitions {
            let (set, ends) = match transition {
                Transition::Token(set, ..) => (*set, false),
                // No rule is empty, so the state after a call is irrelevant.
                Transition::Call { rule, .. } => (self.state(self.starts[*rule as usize]).next.0, false),
                other => other.target().map_or((0, false), |to| self.state(to).next),
            };
            next = (next.0 | set, next.1 | ends);
        }
        next
    }
}

const RULE_ORDER: [Rule; RULES] = [
    Rule::Start,
    Rule::Expr,
    Rule::Or,
    Rule::And,
    Rule::Relation,
    Rule::Calc,
    Rule::Unary,
    Rule::Member,
    Rule::Primary,
    Rule::ExprList,
    Rule::ListInit,
    Rule::FieldInitializerList,
    Rule::OptField,
    Rule::MapInitializerList,
    Rule::EscapeIdent,
    Rule::OptExpr,
    Rule::Literal,
];
