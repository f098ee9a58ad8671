//! Ingresses: `networking.k8s.io/v1`, and the `v1beta1` of `networking.k8s.io` and of `extensions`. In
//! `v1beta1` a backend has its name and port as sibling fields, and the backend of the spec has another name.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{child, child_mut, children_mut, integer, rename, text};
use jsontree::{Text, Value, json};
use schema::object::Object;

pub(super) static CONVERSION: Conversion = Conversion {
    spokes: &[
        Spoke::of("extensions/v1beta1", to_hub, from_hub),
        Spoke::of("networking.k8s.io/v1beta1", to_hub, from_hub),
    ],
    ..NONE
};

fn to_hub(ingress: &mut Object) {
    let Some(spec) = child_mut(ingress, "spec") else { return };
    rename(spec, "backend", "defaultBackend");
    if let Some(backend) = child_mut(spec, "defaultBackend") {
        backend_to_hub(backend);
    }
    for_each_path_backend(spec, backend_to_hub);
}

fn from_hub(ingress: &mut Object) {
    let Some(spec) = child_mut(ingress, "spec") else { return };
    rename(spec, "defaultBackend", "backend");
    if let Some(backend) = child_mut(spec, "backend") {
        backend_from_hub(backend);
    }
    for_each_path_backend(spec, backend_from_hub);
}

fn for_each_path_backend(spec: &mut Object, convert: fn(&mut Object)) {
    for rule in children_mut(spec, "rules") {
        let Some(http) = child_mut(rule, "http") else { continue };
        children_mut(http, "paths").filter_map(|path| child_mut(path, "backend")).for_each(convert);
    }
}

fn backend_to_hub(backend: &mut Object) {
    let name = match backend.remove("serviceName") {
        Some(Value::String(name)) => name,
        _ => Text::default(),
    };
    let port = match backend.remove("servicePort") {
        Some(Value::String(name)) => json!({"name": name}),
        Some(number) if number.as_i64().is_some_and(|number| number != 0) => json!({"number": number}),
        _ if name.is_empty() => return,
        _ => json!({}),
    };
    backend.insert("service", json!({"name": name, "port": port}));
}

fn backend_from_hub(backend: &mut Object) {
    let Some(Value::Object(service)) = backend.remove("service") else { return };
    let absent = Object::new();
    let port = child(&service, "port").unwrap_or(&absent);
    let port = match text(port, "name") {
        "" => Value::from(integer(port, "number")),
        name => Value::from(name),
    };
    backend.insert("serviceName", Value::from(text(&service, "name")));
    backend.insert("servicePort", port);
}
