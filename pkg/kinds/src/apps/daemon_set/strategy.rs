//! DaemonSets: the generation of their template, which v1 stores in an annotation (upstream's
//! `registry/apps/daemonset/strategy.go`).

use crate::strategy::hooks::{Context, Strategy, child};
use api::meta;
use api::semantic::equal;
use jsontree::Value;
use schema::builtin::IO_K8S_API_CORE_V1_PODTEMPLATESPEC;
use schema::object::{Object, get_object};

/// Counts changes of the pod template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) struct DaemonSets;

impl Strategy for DaemonSets {
    fn prepare_for_create(&self, object: &mut Object, _context: &Context<'_>) {
        let sent = generation(object);
        set(object, sent.max(1));
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        let template =
            |object: &Object| get_object(object, &["spec", "template"]).cloned().unwrap_or_default();
        let changed = !equal(&IO_K8S_API_CORE_V1_PODTEMPLATESPEC, &template(new), &template(old));
        set(new, generation(old) + i64::from(changed));
    }
}

fn generation(object: &Object) -> i64 {
    let annotations = meta::metadata(object).and_then(|m| m.get("annotations"));
    let text = annotations.and_then(|a| a.get(TEMPLATE_GENERATION)).and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set(object: &mut Object, generation: i64) {
    if let Some(annotations) = child(meta::metadata_mut(object), "annotations") {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), Value::from(generation.to_string()));
    }
}
