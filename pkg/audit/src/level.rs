//! Audit levels and stages.

/// The audit level: the amount of data that is recorded. Ordered by amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    None,
    /// Request metadata and result.
    Metadata,
    /// Metadata and the object in the request.
    Request,
    /// Metadata, the object in the request and the object in the response.
    RequestResponse,
}

impl Level {
    /// All levels, in upstream's order.
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    /// The name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A point in a request's life at which an event can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The request was received, before any processing.
    RequestReceived,
    /// The response headers of a long-running request were sent.
    ResponseStarted,
    /// The response was sent, or the client is gone.
    ResponseComplete,
    Panic,
}

impl Stage {
    /// All stages, in upstream's order.
    pub const ALL: [Stage; 4] =
        [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    /// The name in policies and events.
    pub fn name(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & bit(stage) != 0
    }

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
