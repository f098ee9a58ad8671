//! Feature gates: their names, their history by release, and their current values.
//!
//! A server can emulate an earlier release (`--emulated-version`) and stay compatible with an older server of
//! the same cluster (`--min-compatibility-version`); see [`Effective`]. Each gate has a history
//! ([`Gate::specs`]), of which the entry for the emulated release applies. [`Gates`] contains the values of
//! all gates: a small value, created at startup and passed to all users of gates. An entry can require that no
//! older server is in the cluster ([`Spec::compatible`], KEP-4330).
#![allow(clippy::as_conversions)]

mod effective;
mod gates;
mod release;

pub use effective::Effective;
pub use gates::{GateError, Gates};
pub use release::{Release, ReleaseError};
pub use table::Gate;

/// Maturity of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Experimental; disabled by default.
    Alpha,
    /// Well tested.
    Beta,
    /// Generally available; the gate is removed some releases later.
    Stable,
    /// Old behaviour that will be removed.
    Deprecated,
}

impl Stage {
    /// Name in metrics; empty for a stable feature.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Stable => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }
}

/// Properties of a gate from one release on, until its next spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// First minor release of Kubernetes 1.x with these properties.
    pub since: u32,
    /// Maturity from that release on.
    pub stage: Stage,
    /// Default value.
    pub default: bool,
    /// True if the default cannot be changed.
    pub locked: bool,
    /// Oldest minor release that may be in the cluster (`--min-compatibility-version`) for this entry to apply;
    /// 0 for any.
    pub compatible: u32,
}

impl Spec {
    const fn new(stage: Stage, since: u32) -> Self {
        Spec { since, stage, default: false, locked: false, compatible: 0 }
    }

    const fn on(self) -> Self {
        Spec { default: true, ..self }
    }

    const fn locked(self) -> Self {
        Spec { locked: true, ..self }
    }

    const fn compatible(self, compatible: u32) -> Self {
        Spec { compatible, ..self }
    }

    /// True if the entry applies to a server of these releases, unless a later one does.
    fn applies_to(&self, effective: Effective) -> bool {
        Release::minor_of_1(self.since) <= effective.emulation
            && (self.compatible == 0 || Release::minor_of_1(self.compatible) <= effective.min_compatibility)
    }
}

const fn alpha(since: u32) -> Spec {
    Spec::new(Stage::Alpha, since)
}

const fn beta(since: u32) -> Spec {
    Spec::new(Stage::Beta, since)
}

const fn stable(since: u32) -> Spec {
    Spec::new(Stage::Stable, since)
}

const fn deprecated(since: u32) -> Spec {
    Spec::new(Stage::Deprecated, since)
}

/// Table row of a gate.
struct Row {
    name: &'static str,
    /// Oldest first.
    specs: &'static [Spec],
    /// Gates that this gate requires.
    needs: &'static [Gate],
}

/// Defines the enum of gates and their rows from lines of `Name: [specs], needs [gates];`.
macro_rules! gates {
    ($($name:ident: [$($spec:expr),*] $(, needs [$($need:ident),*])?;)*) => {
        /// Feature gate of the release, with its name in `--feature-gates`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are upstream's, and so is what they mean")]
        #[repr(u16)]
        pub enum Gate { $($name,)* }

        impl Gate {
            /// All gates, sorted by name.
            pub const ALL: &[Gate] = &[$(Gate::$name,)*];
        }

        pub(super) static ROWS: [super::Row; Gate::ALL.len()] = [
            $(super::Row {
                name: stringify!($name),
                specs: &[$($spec),*],
                needs: &[$($(Gate::$need),*)?],
            },)*
        ];
    };
}

mod table;

impl Gate {
    fn row(self) -> &'static Row {
        // Rows are in the order of the gates.
        #[allow(clippy::indexing_slicing, reason = "both lists come from one macro call")]
        &table::ROWS[self as usize]
    }

    /// Name in `--feature-gates`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the gate with this name; `None` for an unknown or removed gate.
    pub fn find(name: &str) -> Option<Gate> {
        let at = Gate::ALL.binary_search_by(|gate| gate.name().cmp(name)).ok()?;
        Gate::ALL.get(at).copied()
    }

    /// History, oldest first.
    pub fn specs(self) -> &'static [Spec] {
        self.row().specs
    }

    /// Returns the properties in a server of these releases; `None` before the release that introduced the gate.
    pub fn spec_in(self, effective: Effective) -> Option<&'static Spec> {
        self.specs().iter().rev().find(|spec| spec.applies_to(effective))
    }

    /// Gates that this gate requires.
    pub fn needs(self) -> &'static [Gate] {
        self.row().needs
    }

    /// True for a gate that only sets other gates.
    pub fn is_shorthand(self) -> bool {
        self.controlled_stage().is_some()
    }

    /// Returns the stage of `AllAlpha` and `AllBeta`, which set all gates of a stage that are not set
    /// explicitly.
    fn controlled_stage(self) -> Option<Stage> {
        match self {
            Gate::AllAlpha => Some(Stage::Alpha),
            Gate::AllBeta => Some(Stage::Beta),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
