//! Writes the Swagger 2.0 document of the whole API.

use std::collections::BTreeMap;

use schema::openapi::{Dialect, Writer};

use super::content::Content;
use super::model::{Answer, Body, Operation, Parameter, PathItem, Place};

/// Parameters that documents define once, with the names that upstream has for them. The digest in a
/// name is opaque to clients. Parameters that are not listed stand where they are used: `name`,
/// `dryRun` and `fieldValidation` because old clients look for them there, others because they are rare.
const SHARED: [(&str, &str); 19] = [
    ("allowWatchBookmarks", "allowWatchBookmarks-HC2hJt-J"),
    ("continue", "continue-QfD61s0i"),
    ("fieldManager", "fieldManager-Qy4HdaTW"),
    ("fieldSelector", "fieldSelector-xIcQKXFG"),
    ("force", "force-tOGGb0Yi"),
    ("gracePeriodSeconds", "gracePeriodSeconds--K5HaBOS"),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj",
    ),
    ("labelSelector", "labelSelector-5Zw57w4C"),
    ("limit", "limit-1NfNmdNH"),
    ("namespace", "namespace-vgWSWtn3"),
    ("orphanDependents", "orphanDependents-uRB25kX5"),
    ("pretty", "pretty-tJGM1-ng"),
    ("propagationPolicy", "propagationPolicy-6jk3prlO"),
    ("resourceVersion", "resourceVersion-5WAnf1kx"),
    ("resourceVersionMatch", "resourceVersionMatch-t8XhRHeC"),
    ("sendInitialEvents", "sendInitialEvents-rLXlEK_k"),
    ("shardSelector", "shardSelector-Kgyki_3_"),
    ("timeoutSeconds", "timeoutSeconds-yvYezaOC"),
    ("watch", "watch-XNNPZGbK"),
];

/// A patch's `fieldManager` is a parameter of its own: applying needs one.
const PATCH_FIELD_MANAGER: &str = "fieldManager-7c6nTn1T";

/// Bodies that many operations share, by definition.
const SHARED_BODIES: [(&str, &str); 2] = [
    ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "body-2Y1dVQaQ"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", "body-78PwaGsr"),
];

/// The whole document.
pub(super) fn document(content: &Content) -> Vec<u8> {
    let mut w = Writer::new();
    w.object(|w| {
        w.text("swagger", "2.0");
        w.key("info");
        super::content::info(content.info, w);
        w.key("paths");
        w.object(|w| {
            for item in &content.paths {
                w.key(&item.path);
                path_item(item, w);
            }
        });
        w.key("definitions");
        content.definitions(Dialect::V2, w);
        w.key("parameters");
        w.object(|w| shared_parameters(content, w));
        w.key("securityDefinitions");
        super::content::security_schemes(w);
        w.key("security");
        w.array(|w| w.object(|w| w.texts("BearerToken", &[])));
    });
    w.into_bytes()
}

fn path_item(item: &PathItem, w: &mut Writer) {
    let common = item.common_parameters();
    w.object(|w| {
        for operation in &item.operations {
            w.key(operation.method);
            self::operation(operation, &common, w);
        }
        if !common.is_empty() {
            let method = item.operations.first().map_or("", |operation| operation.method);
            w.key("parameters");
            w.array(|w| common.iter().for_each(|p| parameter(p, method, w)));
        }
    });
}

fn operation(operation: &Operation, common: &[Parameter], w: &mut Writer) {
    w.object(|w| {
        w.texts("consumes", operation.consumes);
        w.texts("produces", operation.produces);
        w.texts("schemes", &["https"]);
        w.texts("tags", &[&operation.tag]);
        w.text("operationId", &operation.id);
        let mut own = operation.parameters.iter().filter(|p| !common.contains(p)).peekable();
        if own.peek().is_some() || operation.body.is_some() {
            w.key("parameters");
            w.array(|w| {
                body(operation, w);
                own.for_each(|p| parameter(p, operation.method, w));
            });
        }
        w.key("responses");
        w.object(|w| responses(operation, w));
        super::content::kubernetes_extensions(operation, w);
    });
}

fn body(operation: &Operation, w: &mut Writer) {
    let Some(body) = &operation.body else { return };
    match shared_body(body) {
        Some(name) => reference(name, w),
        None => write_body(body, w),
    }
}

fn shared_body(body: &Body) -> Option<&'static str> {
    SHARED_BODIES.iter().find(|(definition, _)| *definition == body.definition).map(|(_, name)| *name)
}

fn write_body(body: &Body, w: &mut Writer) {
    w.object(|w| {
        w.text("name", "body");
        w.text("in", "body");
        if body.required {
            w.raw_if_any("required", "true");
        }
        w.key("schema");
        Dialect::V2.reference(&body.definition, w);
    });
}

fn parameter(parameter: &Parameter, method: &str, w: &mut Writer) {
    match shared_name(parameter, method) {
        Some(name) => reference(name, w),
        None => write_parameter(parameter, w),
    }
}

fn shared_name(parameter: &Parameter, method: &str) -> Option<&'static str> {
    match parameter.name {
        "fieldManager" if method == "patch" => Some(PATCH_FIELD_MANAGER),
        name => SHARED.iter().find(|(n, _)| *n == name).map(|(_, shared)| *shared),
    }
}

fn write_parameter(parameter: &Parameter, w: &mut Writer) {
    w.object(|w| {
        w.raw_if_any("uniqueItems", "true");
        w.text("type", parameter.ty);
        w.text("name", parameter.name);
        w.text("in", parameter.place.name());
        if parameter.place == Place::Path {
            w.raw_if_any("required", "true");
        }
    });
}

fn reference(name: &str, w: &mut Writer) {
    w.object(|w| w.text("$ref", &["#/parameters/", name].concat()));
}

/// The definitions of the shared parameters, each once, sorted by name.
fn shared_parameters(content: &Content, w: &mut Writer) {
    let mut bodies: BTreeMap<&str, &Body> = BTreeMap::new();
    let mut others: BTreeMap<&str, &Parameter> = BTreeMap::new();
    for operation in content.paths.iter().flat_map(|item| &item.operations) {
        let named = |parameter| Some((shared_name(parameter, operation.method)?, parameter));
        others.extend(operation.parameters.iter().filter_map(named));
        bodies.extend(operation.body.iter().filter_map(|body| Some((shared_body(body)?, body))));
    }
    let mut names: Vec<&str> = bodies.keys().chain(others.keys()).copied().collect();
    names.sort_unstable();
    for name in names {
        w.key(name);
        match (bodies.get(name), others.get(name)) {
            (Some(body), _) => write_body(body, w),
            (None, Some(parameter)) => write_parameter(parameter, w),
            (None, None) => w.object(|_| {}),
        }
    }
}

fn responses(operation: &Operation, w: &mut Writer) {
    for &code in operation.codes {
        w.key(&code.to_string());
        w.object(|w| {
            w.text("description", super::content::reason(code));
            w.key("schema");
            operation.answer.write(Dialect::V2, w);
        });
    }
    w.key("401");
    w.object(|w| w.text("description", super::content::reason(401)));
}

impl Answer {
    /// Its schema.
    pub(super) fn write(&self, dialect: Dialect, w: &mut Writer) {
        match self {
            Answer::Object(definition) => dialect.reference(definition, w),
            Answer::String => w.object(|w| w.text("type", "string")),
        }
    }
}
