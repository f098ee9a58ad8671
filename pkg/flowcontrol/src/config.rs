//! The configuration as plain values: what FlowSchemas and PriorityLevelConfigurations say, defaults filled in.

use std::collections::HashSet;

use apimachinery::user_info::{GROUP_AUTHENTICATED, GROUP_MASTERS, GROUP_UNAUTHENTICATED};

use crate::plan::discipline;

/// Who is served how: what the objects of a cluster say. It takes effect by
/// [`FlowControl::configure`](crate::FlowControl::configure).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// In the order in which they are asked. The level of each is in `levels`, or mandatory.
    pub(crate) schemas: Vec<FlowSchema>,
    /// Which of them is for those whom none wants.
    pub(crate) catch_all: usize,
    pub(crate) levels: Vec<PriorityLevel>,
    pub(crate) total_seats: u32,
}

/// Name of the mandatory level and schema of those who are never limited.
pub(crate) const EXEMPT: &str = "exempt";
/// Name of the mandatory level and schema of those whom no other schema wants.
pub(crate) const CATCH_ALL: &str = "catch-all";

impl Configuration {
    /// A configuration of `total_seats` seats (`--max-requests-inflight` and `--max-mutating-requests-inflight`
    /// together), in which names are unique.
    ///
    /// What cannot be is left out, as upstream does: levels whose hand cannot be dealt, an exempt level of
    /// another name or a limited one of that name, and schemas whose level is not there. The schemas and levels
    /// `exempt` and `catch-all` are there in any case.
    pub fn new(mut schemas: Vec<FlowSchema>, mut levels: Vec<PriorityLevel>, total_seats: u32) -> Self {
        levels.retain(|level| {
            (level.kind == LevelKind::Exempt) == (level.name == EXEMPT) && discipline(level).is_some()
        });
        let named: HashSet<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        schemas.retain(|schema| named.contains(schema.level.as_str()));
        schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
        if !schemas.iter().any(|schema| schema.name == EXEMPT) {
            schemas.insert(0, exempt_schema());
        }
        let catch_all = schemas.iter().position(|schema| schema.name == CATCH_ALL).unwrap_or_else(|| {
            schemas.push(catch_all_schema());
            schemas.len() - 1
        });
        Configuration { schemas, catch_all, levels, total_seats }
    }

    /// The mandatory levels and schemas alone, which serve until objects have been read.
    pub fn mandatory(total_seats: u32) -> Self {
        Configuration::new(Vec::new(), Vec::new(), total_seats)
    }

    pub(crate) fn has_level(&self, name: &str) -> bool {
        self.levels.iter().any(|level| level.name == name)
    }

    pub(crate) fn is_mandatory(name: &str) -> bool {
        [EXEMPT, CATCH_ALL].contains(&name)
    }

    /// The levels that there are even without objects.
    pub(crate) fn mandatory_levels() -> [PriorityLevel; 2] {
        let catch_all = LevelKind::Limited { borrowing_limit_percent: None, response: Response::Reject };
        [(EXEMPT, 0, LevelKind::Exempt), (CATCH_ALL, 5, catch_all)].map(|(name, shares, kind)| {
            PriorityLevel { name: name.to_owned(), uid: String::new(), shares, lendable_percent: 0, kind }
        })
    }
}

/// Administrators, before everybody else.
fn exempt_schema() -> FlowSchema {
    FlowSchema {
        name: EXEMPT.to_owned(),
        uid: String::new(),
        level: EXEMPT.to_owned(),
        precedence: 1,
        distinguisher: None,
        rules: vec![everything_for(&[GROUP_MASTERS])],
    }
}

/// Everybody whom no schema has wanted.
fn catch_all_schema() -> FlowSchema {
    FlowSchema {
        name: CATCH_ALL.to_owned(),
        uid: String::new(),
        level: CATCH_ALL.to_owned(),
        precedence: 10_000,
        distinguisher: Some(Distinguisher::ByUser),
        rules: vec![everything_for(&[GROUP_UNAUTHENTICATED, GROUP_AUTHENTICATED])],
    }
}

fn everything_for(groups: &[&str]) -> Rule {
    let all = || vec!["*".to_owned()];
    Rule {
        subjects: groups.iter().map(|group| Subject::Group((*group).to_owned())).collect(),
        resource_rules: vec![ResourceRule {
            verbs: all(),
            groups: all(),
            resources: all(),
            cluster_scope: true,
            namespaces: all(),
        }],
        non_resource_rules: vec![NonResourceRule { verbs: all(), paths: all() }],
    }
}

/// A FlowSchema: which requests belong to which level, and which of them are one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSchema {
    /// Its name.
    pub name: String,
    /// Its uid, which clients see in `X-Kubernetes-PF-FlowSchema-UID`.
    pub uid: String,
    /// The priority level that it sends requests to.
    pub level: String,
    /// `matchingPrecedence`: the lower, the earlier it is asked; among equals by name.
    pub precedence: i32,
    /// What tells flows apart; `None` if all requests of the schema are one flow.
    pub distinguisher: Option<Distinguisher>,
    /// A request that any of them matches belongs to the schema.
    pub rules: Vec<Rule>,
}

/// What tells the flows of a schema apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distinguisher {
    /// The user's name.
    ByUser,
    /// The namespace that the request names.
    ByNamespace,
}

/// Requests of any of some subjects for any of some things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// Who asks.
    pub subjects: Vec<Subject>,
    /// For which resources.
    pub resource_rules: Vec<ResourceRule>,
    /// For which other paths.
    pub non_resource_rules: Vec<NonResourceRule>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The user of this name; `*` is everyone.
    User(String),
    /// The members of this group; `*` is everyone.
    Group(String),
    /// A service account; the name `*` stands for all of the namespace.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// Verbs on resources. A list that is `*` alone matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceRule {
    /// Which verbs.
    pub verbs: Vec<String>,
    /// Of which API groups.
    pub groups: Vec<String>,
    /// Which resources, `pods` or `pods/status`.
    pub resources: Vec<String>,
    /// Whether requests without a namespace match.
    pub cluster_scope: bool,
    /// In which namespaces those with one match.
    pub namespaces: Vec<String>,
}

/// Verbs on paths that are no resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NonResourceRule {
    /// Which verbs; `*` alone matches all.
    pub verbs: Vec<String>,
    /// Which paths, with all that is below them; `*` matches every path.
    pub paths: Vec<String>,
}

/// A PriorityLevelConfiguration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorityLevel {
    /// Its name.
    pub name: String,
    /// Its uid, which clients see in `X-Kubernetes-PF-PriorityLevel-UID`.
    pub uid: String,
    /// `nominalConcurrencyShares`: its part of the server's seats, in proportion to those of all levels.
    pub shares: u32,
    /// `lendablePercent`: how much of that others may borrow, 0 to 100.
    pub lendable_percent: u32,
    /// How it limits its requests.
    pub kind: LevelKind,
}

/// How a level limits its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelKind {
    /// Not at all.
    Exempt,
    /// By its seats.
    Limited {
        /// `borrowingLimitPercent`: how many seats of others it may have, in percent of its own; `None` for as
        /// many as there are.
        borrowing_limit_percent: Option<u32>,
        /// What becomes of those who find no seat free.
        response: Response,
    },
}

/// What becomes of a request that finds no seat free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// It is turned away.
    Reject,
    /// It waits.
    Queue(Queuing),
}

/// The queues of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queuing {
    /// How many there are, at least one.
    pub queues: u32,
    /// How many of them a flow is dealt, by shuffle sharding: at least one, at most `queues`.
    pub hand_size: u32,
    /// How many requests may wait in each.
    pub queue_length_limit: u32,
}
