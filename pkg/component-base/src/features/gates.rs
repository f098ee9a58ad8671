//! Which gates are open.
#![allow(clippy::as_conversions)]

use std::fmt;

use super::{Effective, Gate, Stage};

/// Bits of a word of the set.
const WORD: usize = u64::BITS as usize;

/// The open gates of a server, and the releases that decided about them. [`Default`] is what this release
/// has by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    open: [u64; Gate::ALL.len().div_ceil(WORD)],
    effective: Effective,
}

/// Why gates cannot be as they are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateError {
    /// There is no gate of that name.
    Unknown(String),
    /// The gate has a value that cannot be changed any more.
    Locked {
        /// The gate.
        gate: Gate,
        /// The value that it has.
        to: bool,
    },
    /// The gate is not there yet in the release that is emulated.
    NotYet {
        /// The gate.
        gate: Gate,
        /// The value that was wanted.
        wanted: bool,
        /// The releases that decide.
        effective: Effective,
    },
    /// The gate is open, and some that it needs are not.
    Needs {
        /// The gate.
        gate: Gate,
        /// Those that are closed.
        closed: Vec<Gate>,
    },
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateError::Unknown(name) => write!(f, "unrecognized feature gate: {name}"),
            GateError::Locked { gate, to } => {
                let name = gate.name();
                write!(f, "cannot set feature gate {name} to {}, feature is locked to {to}", !to)
            }
            GateError::NotYet { gate, wanted, effective: Effective { emulation, min_compatibility } } => {
                let name = gate.name();
                write!(
                    f,
                    "cannot set feature gate {name} to {wanted}, feature is PreAlpha at emulated version \
                     {emulation}, min compatibility version {min_compatibility}"
                )
            }
            GateError::Needs { gate, closed } => {
                let closed: Vec<&str> = closed.iter().map(|gate| gate.name()).collect();
                let (name, closed) = (gate.name(), closed.join(" "));
                write!(f, "{name} is enabled, but depends on features that are disabled: [{closed}]")
            }
        }
    }
}

impl Default for Gates {
    fn default() -> Self {
        Gates::defaults(Effective::default())
    }
}

impl Gates {
    /// The gates that are open in a release when nobody says anything.
    pub fn defaults(effective: Effective) -> Self {
        let mut gates = Gates { open: [0; _], effective };
        for &gate in Gate::ALL {
            gates.set(gate, gate.spec_in(effective.emulation).is_some_and(|spec| spec.default));
        }
        gates
    }

    /// The gates that are open in a release when these things are said of some, the last word counting.
    /// `AllAlpha` and `AllBeta` speak for the gates of their stage of which nothing else is said.
    ///
    /// # Errors
    /// Everything that is wrong with that, in the order of the gates' names; whether gates have what
    /// they need is looked at only when nothing else is wrong.
    pub fn new<'a>(
        effective: Effective,
        said: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Self, Vec<GateError>> {
        let mut errors = Vec::new();
        let mut wanted: Vec<(Gate, bool)> = Vec::new();
        for (name, open) in said {
            match Gate::find(name) {
                Some(gate) => {
                    wanted.retain(|(other, _)| *other != gate);
                    wanted.push((gate, open));
                }
                None => errors.push(GateError::Unknown(name.to_owned())),
            }
        }
        wanted.sort_unstable_by_key(|(gate, _)| *gate);
        let mut gates = Gates::defaults(effective);
        for (stage, open) in wanted.iter().filter_map(|(gate, open)| Some((gate.speaks_for()?, *open))) {
            gates.set_stage(stage, open);
        }
        for (gate, open) in wanted {
            match gate.spec_in(effective.emulation) {
                Some(spec) if spec.locked && spec.default != open => {
                    errors.push(GateError::Locked { gate, to: spec.default });
                }
                Some(_) => gates.set(gate, open),
                None => errors.push(GateError::NotYet { gate, wanted: open, effective }),
            }
        }
        if errors.is_empty() {
            errors = gates.unmet();
        }
        if errors.is_empty() { Ok(gates) } else { Err(errors) }
    }

    /// These gates with one of them set otherwise, whatever the release says of it. For tests.
    #[must_use]
    pub fn with(mut self, gate: Gate, open: bool) -> Self {
        self.set(gate, open);
        self
    }

    fn set(&mut self, gate: Gate, open: bool) {
        let (word, bit) = (gate as usize / WORD, gate as usize % WORD);
        if let Some(word) = self.open.get_mut(word) {
            *word = *word & !(1 << bit) | u64::from(open) << bit;
        }
    }

    /// Opens or closes every gate that is at a stage.
    fn set_stage(&mut self, stage: Stage, open: bool) {
        for &gate in Gate::ALL.iter().filter(|gate| gate.speaks_for().is_none()) {
            if gate.spec_in(self.effective.emulation).is_some_and(|spec| spec.stage == stage) {
                self.set(gate, open);
            }
        }
    }

    /// The open gates that need one that is closed.
    fn unmet(&self) -> Vec<GateError> {
        let open = Gate::ALL.iter().filter(|gate| self.enabled(**gate));
        let unmet = |gate: &Gate| {
            let closed: Vec<Gate> =
                gate.needs().iter().copied().filter(|need| !self.enabled(*need)).collect();
            (!closed.is_empty()).then_some(GateError::Needs { gate: *gate, closed })
        };
        open.filter_map(unmet).collect()
    }

    /// Whether a gate is open.
    pub fn enabled(&self, gate: Gate) -> bool {
        let word = self.open.get(gate as usize / WORD).copied().unwrap_or_default();
        word >> (gate as usize % WORD) & 1 == 1
    }

    /// The releases that decided.
    pub fn effective(&self) -> Effective {
        self.effective
    }
}
