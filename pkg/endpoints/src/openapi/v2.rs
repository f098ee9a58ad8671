//! Writes the Swagger 2.0 document of the whole API.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use schema::openapi::{Dialect, Writer};

use super::content::Content;
use super::model::{Body, Operation, Parameter, ParameterLocation, PathItem, ResponseBody};

pub(super) fn document(content: &Content<'_>) -> Vec<u8> {
    let shared = Shared::of(content);
    let mut w = content.writer();
    w.object(|w| {
        w.text("swagger", "2.0");
        w.key("info");
        super::content::info(&content.info, w);
        w.key("paths");
        w.object(|w| paths(content, &shared, w));
        w.key("definitions");
        content.definitions(Dialect::V2, w);
        w.key("parameters");
        w.object(|w| parameters(content, &shared, w));
        w.key("securityDefinitions");
        super::content::security_schemes(w);
        w.key("security");
        w.array(|w| w.object(|w| w.texts("BearerToken", &[])));
    });
    w.into_bytes()
}

/// Writes the paths of this server and of aggregated servers, sorted.
fn paths(content: &Content<'_>, shared: &Shared<'_>, w: &mut Writer) {
    let mut foreign = content.aggregated_parts.paths.iter().peekable();
    for item in &content.paths {
        while let Some((path, document)) = foreign.next_if(|(path, _)| **path < item.path) {
            w.key(path);
            w.raw(&document.to_string());
        }
        w.key(&item.path);
        shared.path_item(item, w);
    }
    for (path, document) in foreign {
        w.key(path);
        w.raw(&document.to_string());
    }
}

/// Writes the shared parameters of this server and of aggregated servers, sorted. Their names are digests of
/// their content.
fn parameters(content: &Content<'_>, shared: &Shared<'_>, w: &mut Writer) {
    let foreign = content.aggregated_parts.parameters.keys().map(String::as_str);
    let names: BTreeSet<&str> = shared.by_name.keys().map(String::as_str).chain(foreign).collect();
    for name in names {
        w.key(name);
        match (shared.by_name.get(name), content.aggregated_parts.parameters.get(name)) {
            (Some(parameter), _) => parameter.write(w),
            (None, other) => w.raw(&other.map(ToString::to_string).unwrap_or_default()),
        }
    }
}

/// Parameter of any kind; in Swagger 2.0 a body is a parameter too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnyParameter<'a> {
    Body(&'a Body),
    Other(&'a Parameter),
}

impl AnyParameter<'_> {
    /// True if the document defines the parameter once. Upstream defines `dryRun` and `fieldValidation` at
    /// each use, because old clients expect them there. Names and most bodies depend on the kind.
    fn is_shared(self) -> bool {
        match self {
            AnyParameter::Body(body) => body.definition.starts_with("io.k8s.apimachinery"),
            AnyParameter::Other(parameter) => {
                !matches!(parameter.name, "name" | "dryRun" | "fieldValidation")
            }
        }
    }

    /// Writes the members in Go's order, because the shared name contains their digest.
    fn write(self, w: &mut Writer) {
        w.object(|w| match self {
            AnyParameter::Body(body) => {
                w.text("name", "body");
                w.text("in", "body");
                if body.required {
                    w.raw_if_any("required", "true");
                }
                w.key("schema");
                Dialect::V2.reference(&body.definition, w);
            }
            AnyParameter::Other(parameter) => {
                w.raw_if_any("uniqueItems", "true");
                w.text("type", parameter.ty);
                w.text_if_any("description", &parameter.description);
                w.text("name", parameter.name);
                w.text("in", parameter.location.name());
                if parameter.location == ParameterLocation::Path {
                    w.raw_if_any("required", "true");
                }
            }
        });
    }

    /// Name of the shared definition: the parameter's name and the start of a digest.
    fn shared_name(self) -> String {
        let name = match self {
            AnyParameter::Body(_) => "body",
            AnyParameter::Other(parameter) => parameter.name,
        };
        let mut w = Writer::new();
        self.write(&mut w);
        let digest = fnv1(&w.into_bytes()).to_be_bytes();
        format!("{name}-{}", URL_SAFE.encode(digest.get(..6).unwrap_or_default()))
    }
}

/// FNV-1, 64 bits.
fn fnv1(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte)
    })
}

/// The parameters that the document defines once.
struct Shared<'a> {
    names: BTreeMap<AnyParameter<'a>, String>,
    by_name: BTreeMap<String, AnyParameter<'a>>,
}

impl<'a> Shared<'a> {
    fn of(content: &'a Content<'_>) -> Self {
        let operations = content.paths.iter().flat_map(|item| &item.operations);
        let parameters = operations.flat_map(|operation| {
            let bodies = operation.body.iter().map(AnyParameter::Body);
            operation.parameters.iter().map(AnyParameter::Other).chain(bodies)
        });
        let mut names = BTreeMap::new();
        for parameter in parameters.filter(|parameter| parameter.is_shared()) {
            names.entry(parameter).or_insert_with(|| parameter.shared_name());
        }
        let by_name = names.iter().map(|(parameter, name)| (name.clone(), *parameter)).collect();
        Shared { names, by_name }
    }

    fn path_item(&self, item: &PathItem, w: &mut Writer) {
        let common = item.common_parameters();
        w.object(|w| {
            for operation in &item.operations {
                w.key(operation.method);
                self.operation(operation, &common, w);
            }
            if !common.is_empty() {
                w.key("parameters");
                w.array(|w| common.iter().for_each(|p| self.parameter(AnyParameter::Other(p), w)));
            }
        });
    }

    fn operation(&self, operation: &Operation, common: &[Parameter], w: &mut Writer) {
        w.object(|w| {
            w.text("description", &operation.description);
            w.texts_if_any("consumes", operation.consumes);
            w.texts("produces", operation.produces);
            w.texts("schemes", &["https"]);
            w.texts("tags", &[&operation.tag]);
            w.text("operationId", &operation.id);
            let body = operation.body.iter().map(AnyParameter::Body);
            let specific =
                operation.parameters.iter().filter(|p| !common.contains(p)).map(AnyParameter::Other);
            let mut all = body.chain(specific).peekable();
            if all.peek().is_some() {
                w.key("parameters");
                w.array(|w| all.for_each(|p| self.parameter(p, w)));
            }
            w.key("responses");
            w.object(|w| responses(operation, w));
            super::content::kubernetes_extensions(operation, w);
        });
    }

    fn parameter(&self, parameter: AnyParameter<'_>, w: &mut Writer) {
        match self.names.get(&parameter) {
            Some(name) => w.object(|w| w.text("$ref", &["#/parameters/", name].concat())),
            None => parameter.write(w),
        }
    }
}

fn responses(operation: &Operation, w: &mut Writer) {
    for &code in operation.codes {
        w.key(&code.to_string());
        w.object(|w| {
            w.text("description", super::content::reason(code));
            w.key("schema");
            operation.response.write(Dialect::V2, w);
        });
    }
    w.key("401");
    w.object(|w| w.text("description", super::content::reason(401)));
}

impl ResponseBody {
    /// Writes the schema.
    pub(super) fn write(&self, dialect: Dialect, w: &mut Writer) {
        match self {
            ResponseBody::Object(definition) => dialect.reference(definition, w),
            ResponseBody::String => w.object(|w| w.text("type", "string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest is opaque to clients, but the sources of generated clients contain the names.
    #[test]
    fn shared_parameters_have_upstreams_names() {
        let body = |definition: &'static str, required| Body { definition: definition.into(), required };
        let delete = body("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", false);
        assert_eq!(AnyParameter::Body(&delete).shared_name(), "body-2Y1dVQaQ");
        let patch = body("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", true);
        assert_eq!(AnyParameter::Body(&patch).shared_name(), "body-78PwaGsr");
        assert_eq!(AnyParameter::Other(&Parameter::namespace()).shared_name(), "namespace-vgWSWtn3");
        assert_eq!(AnyParameter::Other(&Parameter::pretty()).shared_name(), "pretty-tJGM1-ng");
    }
}
