//! Conversion between the versions of the built-in kinds, and what the way into storage changes.
//!
//! Upstream converts everything through internal types. We convert directly between the two forms a
//! kind is served and stored in; kinds whose versions have one shape only change their `apiVersion`.

mod custom_resource_definition;
mod event;
mod horizontal_pod_autoscaler;
mod json_text;
mod normalise;
mod scaling_behavior;
mod scaling_metrics;

pub use normalise::{NormaliseError, normalise_for_storage};

use schema::object::Object;
use serde_json::Value;

/// Converts an object of a kind from one group version (`v1`, `autoscaling/v2`) to another. Defaults
/// are not applied: what is absent stays absent unless the conversion itself fills it in.
pub fn convert(mut object: Object, from: &str, to: &str, kind: &str) -> Object {
    match (kind, from, to) {
        (_, from, to) if from == to => {}
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => {
            horizontal_pod_autoscaler::v1_to_v2(&mut object);
        }
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => {
            horizontal_pod_autoscaler::v2_to_v1(&mut object);
        }
        ("Event", "v1", "events.k8s.io/v1") => event::core_to_events(&mut object),
        ("Event", "events.k8s.io/v1", "v1") => event::events_to_core(&mut object),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1") => {
            custom_resource_definition::v1_to_v1beta1(&mut object);
        }
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1") => {
            custom_resource_definition::v1beta1_to_v1(&mut object);
        }
        _ => {}
    }
    object.insert("apiVersion".to_owned(), Value::from(to));
    object
}

#[cfg(test)]
mod tests;
