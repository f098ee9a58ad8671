//! Paths and operations, before they are written as either dialect of OpenAPI.

use std::borrow::Cow;

use schema::openapi::Gvk;
use schema::table::{Cardinality, Message, Type};

/// Text of a row, or owned text.
pub(super) type Text = Cow<'static, str>;

/// A path and what can be done there.
#[derive(Debug)]
pub(super) struct PathItem {
    pub(super) path: String,
    /// In the order in which documents list them (see [`METHODS`]).
    pub(super) operations: Vec<Operation>,
}

/// Methods in the order in which documents list them.
pub(super) const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// A method on a path.
#[derive(Debug)]
pub(super) struct Operation {
    /// In lower case.
    pub(super) method: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    /// `x-kubernetes-action`; empty for documents.
    pub(super) action: &'static str,
    pub(super) kind: Option<Kind>,
    /// Sorted by name and place, those of the path included.
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// Status codes of success, all with the same answer. Every operation can also be 401.
    pub(super) codes: &'static [u16],
    pub(super) answer: Answer,
    /// What a request's body may be (Swagger 2.0 says so even where there is none).
    pub(super) consumes: &'static [&'static str],
    /// What the answer may be.
    pub(super) produces: &'static [&'static str],
}

/// The kind that an operation is about.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) group: Text,
    pub(super) version: Text,
    pub(super) kind: Text,
}

impl Kind {
    /// Borrowed, as writers take it.
    pub(super) fn gvk(&self) -> Gvk<'_> {
        Gvk { group: &self.group, version: &self.version, kind: &self.kind }
    }
}

/// What a request carries.
#[derive(Debug)]
pub(super) struct Body {
    /// Definition name.
    pub(super) definition: Text,
    pub(super) required: bool,
}

/// What an answer holds.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// An object; the name of its definition.
    Object(Text),
    /// Text, or a connection.
    String,
}

/// A parameter in a path or query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// OpenAPI type.
    pub(super) ty: &'static str,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Path,
    Query,
}

impl Place {
    /// The value of `in`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
        }
    }
}

/// A required parameter in the path.
pub(super) const fn in_path(name: &'static str) -> Parameter {
    Parameter { name, place: Place::Path, ty: "string" }
}

const fn query(name: &'static str, ty: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, ty }
}

pub(super) const PRETTY: Parameter = query("pretty", "string");

/// Of `ListOptions`.
pub(super) const LIST: [Parameter; 11] = [
    query("allowWatchBookmarks", "boolean"),
    query("continue", "string"),
    query("fieldSelector", "string"),
    query("labelSelector", "string"),
    query("limit", "integer"),
    query("resourceVersion", "string"),
    query("resourceVersionMatch", "string"),
    query("sendInitialEvents", "boolean"),
    query("shardSelector", "string"),
    query("timeoutSeconds", "integer"),
    query("watch", "boolean"),
];

/// Of `CreateOptions` and `UpdateOptions`.
pub(super) const WRITE: [Parameter; 3] =
    [query("dryRun", "string"), query("fieldManager", "string"), query("fieldValidation", "string")];

/// Of `GetOptions`. Only custom resources list it.
pub(super) const GET: Parameter = query("resourceVersion", "string");

/// What `PatchOptions` add.
pub(super) const FORCE: Parameter = query("force", "boolean");

/// Of `DeleteOptions`.
pub(super) const DELETE: [Parameter; 5] = [
    query("dryRun", "string"),
    query("gracePeriodSeconds", "integer"),
    query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    query("orphanDependents", "boolean"),
    query("propagationPolicy", "string"),
];

/// The parameters that an options type stands for. Lists are given by repetition, so they have the
/// type of their elements.
pub(super) fn of_options(options: &'static Message) -> impl Iterator<Item = Parameter> {
    options.members.iter().filter_map(|member| {
        let ty = match (member.field.ty, member.field.cardinality) {
            (_, Cardinality::Map) => return None,
            (Type::String, _) => "string",
            (Type::Bool, _) => "boolean",
            (Type::Int32 | Type::Int64, _) => "integer",
            // Times are no parameters upstream either.
            (Type::Bytes | Type::Double | Type::Any | Type::Message(_), _) => return None,
        };
        Some(query(member.name, ty))
    })
}

impl PathItem {
    /// The parameters that all operations share; documents list them once, on the path.
    pub(super) fn common_parameters(&self) -> Vec<Parameter> {
        let Some((first, rest)) = self.operations.split_first() else { return Vec::new() };
        let shared = |p: &&Parameter| rest.iter().all(|operation| operation.parameters.contains(p));
        first.parameters.iter().filter(shared).copied().collect()
    }
}
