//! The automaton of the grammar: states and transitions as ANTLR makes them. Where a call's last state is the end
//! of a block, that block's end is what the call returns to: which contexts of a prediction are equal, and so how
//! far it looks ahead, depends on it.

use super::grammar::{DECIDED_BY_ONE_TOKEN, GRAMMAR, Label, Part, RULES, Rule, Set};

/// A state's place in [`Automaton::states`].
pub(super) type Id = u16;

/// What a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Has one transition.
    Basic,
    /// Where a choice between alternatives begins.
    BlockStart,
    /// Where the body of something repeated begins.
    LoopBody,
    /// Where something begins that comes at least once.
    PlusStart,
    /// Where it is decided whether to repeat it.
    PlusLoopBack,
    /// Where it is decided whether something comes (again); `recursion` if it is a rule's recursion to the left.
    LoopEntry {
        /// See above.
        recursion: bool,
    },
    /// Behind the body of something repeated.
    LoopBack,
    /// The end of a block.
    BlockEnd,
    /// The end of a rule.
    Stop,
}

/// A way out of a state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transition {
    /// Without a token.
    Epsilon(Id),
    /// By a token.
    Token(Set, Label, Id),
    /// Through another rule, after which it goes on.
    Call { rule: Rule, precedence: u8, label: Label, follow: Id },
    /// If the rule was called with at most this precedence.
    Precedence(u8, Id),
    /// From the end of a rule to behind one of its calls, when it is not known which call it was. `outermost` if
    /// the rule is recursive to the left and was called from another rule.
    Return { follow: Id, outermost: bool },
}

impl Transition {
    fn target(&self) -> Option<Id> {
        match self {
            Transition::Epsilon(to) | Transition::Precedence(_, to) => Some(*to),
            _ => None,
        }
    }

    /// Whether it consumes no token itself.
    pub(super) fn is_epsilon(&self) -> bool {
        !matches!(self, Transition::Token(..))
    }
}

/// A state.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) kind: Kind,
    pub(super) rule: Rule,
    pub(super) transitions: Vec<Transition>,
    /// Whether its choice is made by prediction and not by one token.
    pub(super) predicts: bool,
    /// Tokens that may come next within the rule, and whether the rule may end without one.
    pub(super) next: (Set, bool),
}

/// The automaton.
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

    /// What follows the call that is a state's only transition.
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

    /// The loop over the operators of a rule that is recursive to the left.
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

    /// Alternatives that end at a state.
    fn block(&mut self, rule: Rule, alternatives: &[&[Part]], to: Id) -> Id {
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
        let firsts: Vec<Transition> =
            alternatives.iter().map(|parts| Transition::Epsilon(self.sequence(rule, parts, end))).collect();
        self.add(rule, Kind::BlockStart, firsts)
    }

    /// Parts one after the other, that end at a state.
    fn sequence(&mut self, rule: Rule, parts: &[Part], to: Id) -> Id {
        parts.iter().rev().fold(to, |to, part| match part {
            Part::Token(set, label) => self.add(rule, Kind::Basic, vec![Transition::Token(*set, *label, to)]),
            Part::Rule(called, precedence, label) => {
                let (precedence, label) = (*precedence, *label);
                let call = Transition::Call { rule: *called, precedence, label, follow: to };
                self.add(rule, Kind::Basic, vec![call])
            }
            Part::Maybe(parts) => {
                let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
                let first = self.sequence(rule, parts, end);
                self.add(rule, Kind::BlockStart, vec![Transition::Epsilon(first), Transition::Epsilon(end)])
            }
            Part::Many(parts) => self.star(rule, parts, to, false),
            Part::ManyAhead(parts) => self.star(rule, parts, to, true),
            Part::Some(parts) => self.plus(rule, parts, to, false),
            Part::SomeAhead(parts) => self.plus(rule, parts, to, true),
        })
    }

    fn star(&mut self, rule: Rule, parts: &[Part], to: Id, predicts: bool) -> Id {
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

    fn plus(&mut self, rule: Rule, parts: &[Part], to: Id, predicts: bool) -> Id {
        let back = self.add(rule, Kind::PlusLoopBack, Vec::new());
        let end = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(back)]);
        let first = self.sequence(rule, parts, end);
        let start = self.add(rule, Kind::PlusStart, vec![Transition::Epsilon(first)]);
        let exit = self.add(rule, Kind::BlockEnd, vec![Transition::Epsilon(to)]);
        self.states[back as usize].predicts = predicts;
        self.states[back as usize].transitions = vec![Transition::Epsilon(start), Transition::Epsilon(exit)];
        start
    }

    /// Adds the ways back from the ends of rules to behind their calls.
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

    /// Finds which tokens may come next in every state, until nothing changes any more.
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
                // No rule is empty, so what follows a call does not matter.
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
