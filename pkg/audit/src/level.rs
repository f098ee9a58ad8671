//! How much of a request is recorded, and when.

/// How much of a request is recorded. More is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Who wanted what, and what came of it.
    Metadata,
    /// That and the object in the request.
    Request,
    /// That and the object in the answer.
    RequestResponse,
}

impl Level {
    /// All levels, in upstream's order.
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    /// Its name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A point in the life of a request at which it may be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has come in, and nobody was asked about it yet.
    RequestReceived,
    /// The head of the answer to a request that stays open is sent.
    ResponseStarted,
    /// The answer is sent, or nobody waits for it any more.
    ResponseComplete,
    /// There was a panic.
    Panic,
}

impl Stage {
    /// All stages, in upstream's order.
    pub const ALL: [Stage; 4] =
        [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    /// Its name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    /// The stage of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// A set of stages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    /// Whether a stage is among them.
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & bit(stage) != 0
    }

    /// Those of either set.
    #[must_use]
    pub fn union(self, other: Stages) -> Self {
        Stages(self.0 | other.0)
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        Stages(stages.into_iter().fold(0, |bits, stage| bits | bit(stage)))
    }
}

fn bit(stage: Stage) -> u8 {
    match stage {
        Stage::RequestReceived => 1,
        Stage::ResponseStarted => 2,
        Stage::ResponseComplete => 4,
        Stage::Panic => 8,
    }
}
