//! Index of a policy's bindings by the labels that their selectors require. With a thousand bindings for as
//! many namespaces, a request costs one look-up.

use std::collections::HashMap;
use std::sync::Arc;

use api::tree::{child, text};
use schema::object::Object;

use super::model::Binding;

/// Positions of bindings by required label and value.
type ByLabel = HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>;

/// Index of some bindings of a policy.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Bindings without a required label. They are always candidates.
    unindexed: Vec<usize>,
    by_namespace: ByLabel,
    by_object: ByLabel,
    len: usize,
}

/// The namespace labels of a request.
pub(super) enum Labels<'o> {
    /// Unknown or irrelevant. Every namespace selector may match.
    Any,
    /// The namespace object.
    Of(&'o Object),
}

impl Index {
    /// Indexes the bindings at these positions.
    pub(super) fn new(bindings: &[Arc<Binding>], places: impl Iterator<Item = usize>) -> Self {
        let mut index = Index::default();
        for place in places {
            let Some(binding) = bindings.get(place) else { continue };
            index.len += 1;
            let criteria = binding.criteria.as_ref();
            let of_namespace = criteria.and_then(|criteria| criteria.required_of_namespaces());
            let of_object = criteria.and_then(|criteria| criteria.required_of_objects());
            let (by, required) = match (of_namespace, of_object) {
                (Some(required), _) => (&mut index.by_namespace, required),
                (None, Some(required)) => (&mut index.by_object, required),
                (None, None) => {
                    index.unindexed.push(place);
                    continue;
                }
            };
            let by_value = by.entry(required.key().into()).or_default();
            for value in required.values() {
                by_value.entry(value.as_str().into()).or_default().push(place);
            }
        }
        index
    }

    /// Returns the number of bindings.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// True if the result depends on the namespace's labels.
    pub(super) fn needs_namespace(&self) -> bool {
        !self.by_namespace.is_empty()
    }

    /// Returns the positions of candidate bindings, in order. `objects` are the new and the old object.
    pub(super) fn find(&self, namespace: &Labels<'_>, objects: [Option<&Object>; 2]) -> Vec<usize> {
        let mut positions = self.unindexed.clone();
        match namespace {
            Labels::Any => positions.extend(self.by_namespace.values().flat_map(HashMap::values).flatten()),
            Labels::Of(namespace) => look_up(&self.by_namespace, namespace, &mut positions),
        }
        for object in objects.into_iter().flatten() {
            look_up(&self.by_object, object, &mut positions);
        }
        positions.sort_unstable();
        positions.dedup();
        positions
    }
}

fn look_up(by: &ByLabel, object: &Object, positions: &mut Vec<usize>) {
    if by.is_empty() {
        return;
    }
    let Some(labels) = child(object, "metadata").and_then(|metadata| child(metadata, "labels")) else {
        return;
    };
    for (label, by_value) in by {
        if labels.contains_key(&**label) {
            positions.extend(by_value.get(text(labels, label)).into_iter().flatten());
        }
    }
}
