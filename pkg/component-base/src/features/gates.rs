//! Values of the feature gates.
#![allow(clippy::as_conversions)]

use std::fmt;

use super::{Effective, Gate, Stage};

const WORD_BITS: usize = u64::BITS as usize;

/// Enabled gates of a server, with the releases that determine the defaults. [`Default`] has the defaults of
/// this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    open: [u64; Gate::ALL.len().div_ceil(WORD_BITS)],
    effective: Effective,
}

/// Error in the requested gate values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateError {
    /// Name of a gate that does not exist.
    Unknown(String),
    /// The gate is locked to its default.
    Locked {
        /// Locked gate.
        gate: Gate,
        /// Its fixed value.
        to: bool,
    },
    /// The gate does not exist yet in the emulated release.
    NotYet {
        /// Gate of a later release.
        gate: Gate,
        /// The requested value.
        wanted: bool,
        /// Releases that determine the existing gates.
        effective: Effective,
    },
    /// The gate is enabled, but gates that it requires are not.
    Needs {
        /// Enabled gate.
        gate: Gate,
        /// The disabled required gates.
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
                let name = gate.name();
                let closed = closed.join(" ");
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
    /// Returns the default values for a release.
    pub fn defaults(effective: Effective) -> Self {
        let mut gates = Gates { open: [0; _], effective };
        for &gate in Gate::ALL {
            gates.set(gate, gate.spec_in(effective).is_some_and(|spec| spec.default));
        }
        gates
    }

    /// Applies requested values to the defaults of a release; the last value of a gate wins. `AllAlpha` and
    /// `AllBeta` set the gates of their stage that are not set explicitly.
    ///
    /// # Errors
    /// All errors, in order of gate names. Requirements between gates are checked only without other errors.
    pub fn new<'a>(
        effective: Effective,
        flags: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Self, Vec<GateError>> {
        let mut errors = Vec::new();
        let mut settings: Vec<(Gate, bool)> = Vec::new();
        for (name, open) in flags {
            match Gate::find(name) {
                Some(gate) => {
                    settings.retain(|(other, _)| *other != gate);
                    settings.push((gate, open));
                }
                None => errors.push(GateError::Unknown(name.to_owned())),
            }
        }
        settings.sort_unstable_by_key(|(gate, _)| *gate);
        let mut gates = Gates::defaults(effective);
        for (stage, open) in
            settings.iter().filter_map(|(gate, open)| Some((gate.controlled_stage()?, *open)))
        {
            gates.set_stage(stage, open);
        }
        for (gate, open) in settings {
            match gate.spec_in(effective) {
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

    /// Returns these gates with one value changed, even if it is locked. For tests.
    #[must_use]
    pub fn with(mut self, gate: Gate, open: bool) -> Self {
        self.set(gate, open);
        self
    }

    fn set(&mut self, gate: Gate, open: bool) {
        let word = gate as usize / WORD_BITS;
        let bit = gate as usize % WORD_BITS;
        if let Some(word) = self.open.get_mut(word) {
            *word = *word & !(1 << bit) | u64::from(open) << bit;
        }
    }

    /// Enables or disables all gates of a stage.
    fn set_stage(&mut self, stage: Stage, open: bool) {
        for &gate in Gate::ALL.iter().filter(|gate| gate.controlled_stage().is_none()) {
            if gate.spec_in(self.effective).is_some_and(|spec| spec.stage == stage) {
                self.set(gate, open);
            }
        }
    }

    /// Errors for enabled gates with disabled requirements.
    fn unmet(&self) -> Vec<GateError> {
        let open = Gate::ALL.iter().filter(|gate| self.enabled(**gate));
        let unmet = |gate: &Gate| {
            let closed: Vec<Gate> =
                gate.needs().iter().copied().filter(|need| !self.enabled(*need)).collect();
            (!closed.is_empty()).then_some(GateError::Needs { gate: *gate, closed })
        };
        open.filter_map(unmet).collect()
    }

    /// True if the gate is enabled, by default or on request.
    pub fn enabled(&self, gate: Gate) -> bool {
        let word = self.open.get(gate as usize / WORD_BITS).copied().unwrap_or_default();
        word >> (gate as usize % WORD_BITS) & 1 == 1
    }

    /// Returns the releases that determine the defaults.
    pub fn effective(&self) -> Effective {
        self.effective
    }
}
