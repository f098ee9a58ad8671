//! Writes OpenAPI 3.0 documents, one per group version (KEP-2896).

use schema::openapi::{Dialect, Writer};

use super::content::Content;
use super::model::{Operation, Parameter, ParameterLocation, PathItem, ResponseBody};

pub(super) fn document(content: &Content<'_>) -> Vec<u8> {
    let mut w = content.writer();
    w.object(|w| {
        w.text("openapi", "3.0.0");
        w.key("info");
        super::content::info(&content.info, w);
        w.key("paths");
        w.object(|w| {
            for item in &content.paths {
                w.key(&item.path);
                path_item(item, w);
            }
        });
        w.key("components");
        w.object(|w| {
            if !content.definitions.is_empty() {
                w.key("schemas");
                content.definitions(Dialect::V3, w);
            }
            if content.security {
                w.key("securitySchemes");
                super::content::security_schemes(w);
            }
        });
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
        parameters(&common, w);
    });
}

fn operation(operation: &Operation, common: &[Parameter], w: &mut Writer) {
    let specific: Vec<Parameter> =
        operation.parameters.iter().filter(|p| !common.contains(p)).cloned().collect();
    w.object(|w| {
        w.texts("tags", &[&operation.tag]);
        w.text("description", &operation.description);
        w.text("operationId", &operation.id);
        parameters(&specific, w);
        if let Some(body) = &operation.body {
            w.key("requestBody");
            w.object(|w| {
                w.key("content");
                content(&sorted(operation.consumes), &ResponseBody::Object(body.definition.clone()), w);
                if body.required {
                    w.raw_if_any("required", "true");
                }
            });
        }
        w.key("responses");
        w.object(|w| responses(operation, w));
        super::content::kubernetes_extensions(operation, w);
    });
}

fn parameters(parameters: &[Parameter], w: &mut Writer) {
    if parameters.is_empty() {
        return;
    }
    w.key("parameters");
    w.array(|w| {
        for parameter in parameters {
            w.object(|w| {
                w.text("name", parameter.name);
                w.text("in", parameter.location.name());
                w.text_if_any("description", &parameter.description);
                if parameter.location == ParameterLocation::Path {
                    w.raw_if_any("required", "true");
                }
                w.key("schema");
                w.object(|w| {
                    w.text("type", parameter.ty);
                    w.raw_if_any("uniqueItems", "true");
                });
            });
        }
    });
}

fn responses(operation: &Operation, w: &mut Writer) {
    let media_types = sorted(operation.produces);
    for &code in operation.codes {
        w.key(&code.to_string());
        w.object(|w| {
            w.text("description", super::content::reason(code));
            w.key("content");
            content(&media_types, &operation.response, w);
        });
    }
    w.key("401");
    w.object(|w| w.text("description", super::content::reason(401)));
}

fn content(media_types: &[&str], response_body: &ResponseBody, w: &mut Writer) {
    w.object(|w| {
        for media_type in media_types {
            w.key(media_type);
            w.object(|w| {
                w.key("schema");
                response_body.write(Dialect::V3, w);
            });
        }
    });
}

fn sorted(media_types: &[&'static str]) -> Vec<&'static str> {
    let mut sorted = media_types.to_vec();
    sorted.sort_unstable();
    sorted
}
