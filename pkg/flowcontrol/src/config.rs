//! The configuration as plain values: FlowSchemas and PriorityLevelConfigurations with defaults filled in.

use std::collections::HashSet;

use apimachinery::user_info::{GROUP_AUTHENTICATED, GROUP_MASTERS, GROUP_UNAUTHENTICATED};

use crate::discipline::Discipline;
use crate::shuffle_sharding::Dealer;

/// Flow schemas and priority levels of a cluster. Takes effect by
/// [`FlowControl::configure`](crate::FlowControl::configure).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Schemas in matching order. The level of each is in `levels`, or mandatory.
    pub(crate) schemas: Vec<FlowSchema>,
    /// Index of the catch-all schema.
    pub(crate) catch_all: usize,
    pub(crate) levels: Vec<PriorityLevel>,
    pub(crate) total_seats: u32,
}

/// Name of the mandatory level and schema for unlimited requests.
pub(crate) const EXEMPT: &str = "exempt";
/// Name of the mandatory level and schema for requests that no other schema matches.
pub(crate) const CATCH_ALL: &str = "catch-all";

impl Configuration {
    /// Creates a configuration of `total_seats` seats, with unique names. `total_seats` is the sum of
    /// `--max-requests-inflight` and `--max-mutating-requests-inflight`.
    ///
    /// Invalid objects are left out, as upstream does: levels whose queues cannot be shuffle-sharded, an
    /// exempt level with another name, a limited level of that name, and schemas whose level does not exist.
    /// The schemas and levels `exempt` and `catch-all` always exist.
    pub fn new(mut schemas: Vec<FlowSchema>, mut levels: Vec<PriorityLevel>, total_seats: u32) -> Self {
        levels.retain(|level| {
            (level.kind == LevelKind::Exempt) == (level.name == EXEMPT) && level.discipline().is_some()
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

    /// Returns the mandatory levels and schemas, which serve until objects have been read.
    pub fn mandatory(total_seats: u32) -> Self {
        Configuration::new(Vec::new(), Vec::new(), total_seats)
    }

    pub(crate) fn has_level(&self, name: &str) -> bool {
        self.levels.iter().any(|level| level.name == name)
    }

    pub(crate) fn is_mandatory(name: &str) -> bool {
        [EXEMPT, CATCH_ALL].contains(&name)
    }

    /// Returns the levels that exist without objects.
    pub(crate) fn mandatory_levels() -> [PriorityLevel; 2] {
        let catch_all = LevelKind::Limited { borrowing_limit_percent: None, response: Response::Reject };
        [(EXEMPT, 0, LevelKind::Exempt), (CATCH_ALL, 5, catch_all)].map(|(name, shares, kind)| {
            PriorityLevel { name: name.to_owned(), uid: String::new(), shares, lendable_percent: 0, kind }
        })
    }
}

/// Matches cluster administrators, before every other schema.
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

/// Matches requests that no other schema matches.
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

/// A FlowSchema: maps requests to a priority level and to flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSchema {
    pub name: String,
    /// The uid, which clients see in `X-Kubernetes-PF-FlowSchema-UID`.
    pub uid: String,
    /// Name of the priority level for matching requests.
    pub level: String,
    /// `matchingPrecedence`: lower values match first; ties are ordered by name.
    pub precedence: i32,
    /// The flow distinguisher; `None` if all requests of the schema are one flow.
    pub distinguisher: Option<Distinguisher>,
    /// A request belongs to the schema if any rule matches.
    pub rules: Vec<Rule>,
}

/// The part of a request that separates flows of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distinguisher {
    ByUser,
    /// The namespace of the request.
    ByNamespace,
}

/// Matches a request if any subject and any resource or path rule match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The users, groups and service accounts.
    pub subjects: Vec<Subject>,
    pub resource_rules: Vec<ResourceRule>,
    /// The rules for other paths.
    pub non_resource_rules: Vec<NonResourceRule>,
}

/// The subject of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The user of this name; `*` is everyone.
    User(String),
    /// The members of this group; `*` is everyone.
    Group(String),
    /// A service account; the name `*` stands for all of the namespace.
    ServiceAccount { namespace: String, name: String },
}

/// Verbs on resources. A list that is `*` alone matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceRule {
    pub verbs: Vec<String>,
    pub groups: Vec<String>,
    /// Resources, such as `pods` or `pods/status`.
    pub resources: Vec<String>,
    /// True if requests without a namespace match.
    pub cluster_scope: bool,
    /// Namespaces of requests that have one.
    pub namespaces: Vec<String>,
}

/// Verbs on paths that are no resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NonResourceRule {
    /// Verbs; `*` alone matches all.
    pub verbs: Vec<String>,
    /// Paths and their subtrees; `*` matches every path.
    pub paths: Vec<String>,
}

/// A PriorityLevelConfiguration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorityLevel {
    pub name: String,
    /// The uid, which clients see in `X-Kubernetes-PF-PriorityLevel-UID`.
    pub uid: String,
    /// `nominalConcurrencyShares`: the share of the server's seats, relative to the shares of all levels.
    pub shares: u32,
    /// `lendablePercent`: the percentage of its seats that the level lends, 0 to 100.
    pub lendable_percent: u32,
    pub kind: LevelKind,
}

impl PriorityLevel {
    /// Returns the queuing parameters; `None` if the level has no queues.
    pub(crate) fn queuing(&self) -> Option<Queuing> {
        match self.kind {
            LevelKind::Limited { response: Response::Queue(queuing), .. } => Some(queuing),
            LevelKind::Limited { response: Response::Reject, .. } | LevelKind::Exempt => None,
        }
    }

    /// Returns the queuing discipline; `None` if the hand size is impossible.
    pub(crate) fn discipline(&self) -> Option<Discipline> {
        Some(match (self.kind, self.queuing()) {
            (LevelKind::Exempt, _) => Discipline::Exempt,
            (_, None) => Discipline::Reject,
            (_, Some(Queuing { queues, hand_size, queue_length_limit })) => {
                Discipline::Queue(Dealer::new(queues, hand_size)?, queue_length_limit)
            }
        })
    }
}

/// Type of a priority level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelKind {
    /// Unlimited.
    Exempt,
    /// Limited by seats.
    Limited {
        /// `borrowingLimitPercent`: maximum of borrowed seats, in percent of the level's own; `None` for no
        /// limit.
        borrowing_limit_percent: Option<u32>,
        /// Response when no seat is free.
        response: Response,
    },
}

/// Response to a request when no seat is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// The request is rejected.
    Reject,
    /// The request is queued.
    Queue(Queuing),
}

/// The queues of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queuing {
    /// Number of queues, at least one.
    pub queues: u32,
    /// Number of queues per flow (shuffle sharding): at least one, at most `queues`.
    pub hand_size: u32,
    /// Maximum number of waiting requests per queue.
    pub queue_length_limit: u32,
}
