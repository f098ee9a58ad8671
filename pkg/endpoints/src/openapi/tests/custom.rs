//! The documents of custom resources.

use super::*;

fn widget(schema: Option<&Value>) -> CustomResource<'_> {
    CustomResource {
        group: "toys.example.com",
        version: "v1",
        plural: "widgets",
        kind: "Widget",
        list_kind: "WidgetList",
        namespaced: true,
        status: true,
        scale: true,
        schema,
    }
}

fn custom(schema: Option<&Value>) -> Value {
    reduced(&serde_json::from_slice(&custom_document(&[widget(schema)])).unwrap())
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_custom_document_has_the_types_that_its_schemas_need() {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "size": { "type": "integer", "default": 3 } } },
            "template": { "type": "object", "x-kubernetes-embedded-resource": true, "required": ["spec"] },
        },
    });
    let got = custom(Some(&schema));
    let meta = "DeleteOptions FieldsV1 ListMeta ManagedFieldsEntry ObjectMeta OwnerReference Patch Preconditions \
                ShardInfo Status StatusCause StatusDetails Time";
    let meta = meta.split_whitespace().map(|name| format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
    let scale = ["Scale", "ScaleSpec", "ScaleStatus"].map(|name| format!("io.k8s.api.autoscaling.v1.{name}"));
    let own = ["Widget", "WidgetList"].map(|name| format!("com.example.toys.v1.{name}"));
    let mut want: Vec<String> = scale.into_iter().chain(meta).chain(own).collect();
    want.sort();
    assert_eq!(keys(&got["schemas"]), want);

    let widget = &got["schemas"]["com.example.toys.v1.Widget"];
    assert_eq!(widget["properties"]["spec"], schema["properties"]["spec"]);
    assert_eq!(widget["properties"]["template"]["required"], json!(["spec", "kind", "apiVersion"]));
    assert!(widget["properties"]["metadata"]["allOf"].is_array());
    let bare = &custom(None)["schemas"]["com.example.toys.v1.Widget"];
    assert_eq!(keys(bare), ["type", "x-kubernetes-group-version-kind"]);
}

#[test]
fn custom_operations_are_named_like_the_built_in_ones() {
    let got = custom(None);
    let root = "/apis/toys.example.com/v1";
    let collection = format!("{root}/namespaces/{{namespace}}/widgets");
    let item = format!("{collection}/{{name}}");
    let (scale, status, all) = (format!("{item}/scale"), format!("{item}/status"), format!("{root}/widgets"));
    assert_eq!(keys(&got["paths"]), [&collection, &item, &scale, &status, &all]);
    let id = |path: &str, method: &str| got["paths"][path][method]["operationId"].clone();
    assert_eq!(id(&collection, "delete"), "deleteToysExampleComV1CollectionNamespacedWidget");
    assert_eq!(id(&collection, "post"), "createToysExampleComV1NamespacedWidget");
    assert_eq!(id(&all, "get"), "listToysExampleComV1WidgetForAllNamespaces");
    assert_eq!(id(&status, "put"), "replaceToysExampleComV1NamespacedWidgetStatus");
    let parameter = |(name, ty)| json!({ "name": name, "in": "query", "type": ty, "uniqueItems": true });
    let parameters = [
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
        ("force", "boolean"),
    ];
    assert_eq!(
        got["paths"][&scale]["patch"],
        json!({
            "operationId": "patchToysExampleComV1NamespacedWidgetScale",
            "tags": ["toysExampleCom_v1"],
            "action": "patch",
            "gvk": ["toys.example.com", "v1", "Widget"],
            "parameters": parameters.map(parameter),
            "body": [["#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
                      ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]]],
            "bodyRequired": true,
            "responses": {
                "200": [["#/components/schemas/io.k8s.api.autoscaling.v1.Scale", ["application/json", "application/yaml"]]],
                "401": null,
            },
        })
    );
}
