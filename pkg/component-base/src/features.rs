//! Feature gates: which there are, what each release did with them, and which are open.
//!
//! A server may be told to behave like an earlier release (`--emulated-version`) and to stay compatible
//! with one that it shares the cluster with (`--min-compatibility-version`); [`Effective`] is what comes of
//! that. Each gate has a history ([`Gate::specs`]), and what the emulated release said of it counts.
//! [`Gates`] is the answer for all of them at once: a small value, made at start and handed down to
//! whoever reads a gate.
#![allow(clippy::as_conversions)]

mod effective;
mod gates;
mod release;

pub use effective::Effective;
pub use gates::{GateError, Gates};
pub use release::Release;
pub use table::Gate;

/// How far a feature has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Tried out; off unless asked for.
    Alpha,
    /// Well tested.
    Beta,
    /// Here to stay; the gate goes some releases later.
    Stable,
    /// Old behaviour that will go.
    Deprecated,
}

impl Stage {
    /// Its name in metrics: that of a stable feature is empty.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Stable => "",
            Stage::Deprecated => "DEPRECATED",
        }
    }
}

/// What a gate is from one release on, until the next of its specs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// The first minor release of Kubernetes 1.x of which this is true.
    pub since: u32,
    /// How far the feature has come.
    pub stage: Stage,
    /// Whether the gate is open when nobody says anything.
    pub default: bool,
    /// Nobody may say anything else.
    pub locked: bool,
}

impl Spec {
    const fn new(stage: Stage, since: u32) -> Self {
        Spec { since, stage, default: false, locked: false }
    }

    const fn on(self) -> Self {
        Spec { default: true, ..self }
    }

    const fn locked(self) -> Self {
        Spec { locked: true, ..self }
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

/// What the table has for each gate.
struct Row {
    name: &'static str,
    /// Oldest first.
    specs: &'static [Spec],
    /// Gates that must be open where this one is.
    needs: &'static [Gate],
}

/// Makes the enum of gates and the row of each from lines of `Name: [specs], needs [gates];`.
macro_rules! gates {
    ($($name:ident: [$($spec:expr),*] $(, needs [$($need:ident),*])?;)*) => {
        /// A feature gate of the release, by the name that `--feature-gates` has for it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are upstream's, and so is what they mean")]
        #[repr(u16)]
        pub enum Gate { $($name,)* }

        impl Gate {
            /// All of them, sorted by name.
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
        // There is a row for each gate, in their order.
        #[allow(clippy::indexing_slicing, reason = "both lists come from one macro call")]
        &table::ROWS[self as usize]
    }

    /// Its name, as `--feature-gates` has it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The gate of a name.
    pub fn find(name: &str) -> Option<Gate> {
        let at = Gate::ALL.binary_search_by(|gate| gate.name().cmp(name)).ok()?;
        Gate::ALL.get(at).copied()
    }

    /// Its history, oldest first.
    pub fn specs(self) -> &'static [Spec] {
        self.row().specs
    }

    /// What a release says of it; `None` before the release that introduced it.
    pub fn spec_in(self, release: Release) -> Option<&'static Spec> {
        self.specs().iter().rev().find(|spec| Release::minor_of_1(spec.since) <= release)
    }

    /// The gates that must be open for this one to be.
    pub fn needs(self) -> &'static [Gate] {
        self.row().needs
    }

    /// Whether this speaks for other gates and decides nothing by itself.
    pub fn is_shorthand(self) -> bool {
        self.speaks_for().is_some()
    }

    /// Whether this is `AllAlpha` or `AllBeta`, which speak for all gates of a stage that nothing else is
    /// said of, and the stage.
    fn speaks_for(self) -> Option<Stage> {
        match self {
            Gate::AllAlpha => Some(Stage::Alpha),
            Gate::AllBeta => Some(Stage::Beta),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
