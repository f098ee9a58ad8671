//! Paths and operations, before they are written as either dialect of OpenAPI.

use std::borrow::Cow;

use api::descriptions::description;
use schema::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_CREATEOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_GETOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTOPTIONS,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PATCHOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_UPDATEOPTIONS,
};
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
    pub(super) description: String,
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
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// OpenAPI type.
    pub(super) ty: &'static str,
    pub(super) description: Text,
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

impl Parameter {
    /// A required parameter in the path.
    fn in_path(name: &'static str, description: impl Into<Text>) -> Self {
        Parameter { name, place: Place::Path, ty: "string", description: description.into() }
    }

    /// The namespace of what the path names.
    pub(super) fn namespace() -> Self {
        Parameter::in_path("namespace", "object name and auth scope, such as for teams and projects")
    }

    /// The name of an object.
    pub(super) fn name_of(kind: &str) -> Self {
        Parameter::in_path("name", format!("name of the {kind}"))
    }

    /// The rest of a path, behind a connection.
    pub(super) fn path() -> Self {
        Parameter::in_path("path", "path to the resource")
    }

    /// What every operation on a resource takes.
    pub(super) fn pretty() -> Self {
        let description = "If 'true', then the output is pretty printed. Defaults to 'false' unless the \
                           user-agent indicates a browser or command-line HTTP tool (curl and wget).";
        Parameter { name: "pretty", place: Place::Query, ty: "string", description: description.into() }
    }
}

/// The parameters that the options of the verbs stand for.
#[derive(Debug)]
pub(super) struct Queries {
    pub(super) list: Vec<Parameter>,
    pub(super) get: Vec<Parameter>,
    pub(super) create: Vec<Parameter>,
    pub(super) update: Vec<Parameter>,
    pub(super) patch: Vec<Parameter>,
    pub(super) delete: Vec<Parameter>,
}

impl Queries {
    /// Reads them off the types.
    pub(super) fn new() -> Self {
        let of = |options| of_options(options).collect();
        Queries {
            list: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTOPTIONS),
            get: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_GETOPTIONS),
            create: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_CREATEOPTIONS),
            update: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_UPDATEOPTIONS),
            patch: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PATCHOPTIONS),
            delete: of(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS),
        }
    }
}

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
        let description = description(options.name, member.name).into();
        Some(Parameter { name: member.name, place: Place::Query, ty, description })
    })
}

impl PathItem {
    /// The parameters that all operations share; documents list them once, on the path.
    pub(super) fn common_parameters(&self) -> Vec<Parameter> {
        let Some((first, rest)) = self.operations.split_first() else { return Vec::new() };
        let shared = |p: &&Parameter| rest.iter().all(|operation| operation.parameters.contains(p));
        first.parameters.iter().filter(shared).cloned().collect()
    }
}
