//! Model of paths and operations, independent of the OpenAPI version.

use std::borrow::Cow;

use api::descriptions::description;
use schema::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_CREATEOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_GETOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTOPTIONS,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PATCHOPTIONS, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_UPDATEOPTIONS,
};
use schema::openapi::Gvk;
use schema::table::{Cardinality, Message, Type};

/// Static text of a row, or owned text.
pub(super) type Text = Cow<'static, str>;

#[derive(Debug)]
pub(super) struct PathItem {
    pub(super) path: String,
    /// In document order (see [`METHODS`]).
    pub(super) operations: Vec<Operation>,
}

/// Methods in document order.
pub(super) const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

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
    /// Sorted by name and location; includes the parameters of the path.
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// Status codes of success, all with the same response. Every operation can also return 401.
    pub(super) codes: &'static [u16],
    pub(super) response: ResponseBody,
    /// Media types of the request body. Swagger 2.0 lists them even without a body.
    pub(super) consumes: &'static [&'static str],
    /// Media types of the response.
    pub(super) produces: &'static [&'static str],
}

/// Kind of an operation.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) group: Text,
    pub(super) version: Text,
    pub(super) kind: Text,
}

impl Kind {
    pub(super) fn gvk(&self) -> Gvk<'_> {
        Gvk { group: &self.group, version: &self.version, kind: &self.kind }
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Body {
    pub(super) definition: Text,
    pub(super) required: bool,
}

/// Response body.
#[derive(Debug, Clone)]
pub(super) enum ResponseBody {
    /// An object, by definition name.
    Object(Text),
    /// Text, or a connection.
    String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) location: ParameterLocation,
    pub(super) ty: &'static str,
    pub(super) description: Text,
}

/// Location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParameterLocation {
    Path,
    Query,
}

impl ParameterLocation {
    /// The value of `in`.
    pub(super) fn name(self) -> &'static str {
        match self {
            ParameterLocation::Path => "path",
            ParameterLocation::Query => "query",
        }
    }
}

impl Parameter {
    fn in_path(name: &'static str, description: impl Into<Text>) -> Self {
        Parameter { name, location: ParameterLocation::Path, ty: "string", description: description.into() }
    }

    /// Path parameter for the namespace.
    pub(super) fn namespace() -> Self {
        Parameter::in_path("namespace", "object name and auth scope, such as for teams and projects")
    }

    /// Path parameter for the object name.
    pub(super) fn name_of(kind: &str) -> Self {
        Parameter::in_path("name", format!("name of the {kind}"))
    }

    /// Path parameter for the rest of a proxy path.
    pub(super) fn path() -> Self {
        Parameter::in_path("path", "path to the resource")
    }

    /// Query parameter of every resource operation.
    pub(super) fn pretty() -> Self {
        let description = "If 'true', then the output is pretty printed. Defaults to 'false' unless the \
                           user-agent indicates a browser or command-line HTTP tool (curl and wget).";
        Parameter {
            name: "pretty",
            location: ParameterLocation::Query,
            ty: "string",
            description: description.into(),
        }
    }
}

/// Query parameters for the options of the verbs.
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
    /// Reads the parameters from the options types.
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

/// Returns the parameters for an options type. Lists are given by repetition, so they have the type of their
/// elements.
pub(super) fn of_options(options: &'static Message) -> impl Iterator<Item = Parameter> {
    options.members.iter().filter_map(|member| {
        let ty = match (member.field.ty, member.field.cardinality) {
            (_, Cardinality::Map) => return None,
            (Type::String, _) => "string",
            (Type::Bool, _) => "boolean",
            (Type::Int32 | Type::Int64, _) => "integer",
            // Upstream does not support times as parameters either.
            (Type::Bytes | Type::Double | Type::Any | Type::Message(_), _) => return None,
        };
        let description = description(options.name, member.name).into();
        Some(Parameter { name: member.name, location: ParameterLocation::Query, ty, description })
    })
}

impl PathItem {
    /// Returns the parameters that all operations share. Documents list them once, on the path.
    pub(super) fn common_parameters(&self) -> Vec<Parameter> {
        let Some((first, rest)) = self.operations.split_first() else { return Vec::new() };
        let shared = |p: &&Parameter| rest.iter().all(|operation| operation.parameters.contains(p));
        first.parameters.iter().filter(shared).cloned().collect()
    }
}
