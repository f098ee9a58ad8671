//! Warnings about pod affinity: old node labels, and selectors that match nothing.

use super::collector::Warnings;
use super::node;
use api::tree::{child, children};
use apimachinery::field::Path;
use schema::object::{Object, get_object};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Warns about the node affinity of a pod spec.
pub(super) fn node(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let Some(affinity) = get_object(spec, &["affinity", "nodeAffinity"]) else { return };
    let path = path.child("affinity.nodeAffinity");
    if let Some(required) = child(affinity, REQUIRED) {
        let path = path.child(REQUIRED);
        let path = path.child("nodeSelectorTerms");
        for (index, term) in children(required, "nodeSelectorTerms").enumerate() {
            node::selector_term(&path.index(index), term, false, out);
        }
    }
    let path = path.child(PREFERRED);
    for (index, term) in children(affinity, PREFERRED).enumerate() {
        let Some(preference) = child(term, "preference") else { continue };
        node::selector_term(&path.index(index).child("preference"), preference, true, out);
    }
}

/// Warns about the pod affinity and anti-affinity of a pod spec.
pub(super) fn pods(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let Some(affinity) = child(spec, "affinity") else { return };
    let path = path.child("affinity");
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = child(affinity, kind) else { continue };
        let path = path.child(kind);
        let required = path.child(REQUIRED);
        for (index, term) in children(affinity, REQUIRED).enumerate() {
            no_selector(&required.index(index), term, out);
        }
        let preferred = path.child(PREFERRED);
        for (index, term) in children(affinity, PREFERRED).enumerate() {
            let Some(term) = child(term, "podAffinityTerm") else { continue };
            no_selector(&preferred.index(index).child("podAffinityTerm"), term, out);
        }
    }
}

/// Warns about a term without a `labelSelector`, which matches no pods.
pub(super) fn no_selector(path: &Path<'_>, term: &Object, out: &mut Warnings) {
    if child(term, "labelSelector").is_none() {
        let path = path.child("labelSelector");
        out.add(format_args!("{path}: a null labelSelector results in matching no pod"));
    }
}

#[cfg(test)]
mod tests {
    use super::{PREFERRED, REQUIRED};
    use crate::warnings::testing::created;
    use jsontree::{Value, json};

    fn check(affinity: Value, expected: &[&str]) {
        created("", "pods", json!({"metadata": {"name": "a"}, "spec": {"affinity": affinity}}), expected);
    }

    #[test]
    fn node_terms_with_old_labels_warn() {
        let term = json!({"matchExpressions": [
            {"key": "a", "operator": "In", "values": ["b"]},
            {"key": "beta.kubernetes.io/os", "operator": "In", "values": ["-"]},
        ]});
        let preferred = json!([{"weight": 1, "preference": term}]);
        let base = "spec.affinity.nodeAffinity";
        let key = "key: beta.kubernetes.io/os is deprecated since v1.14; use \"kubernetes.io/os\" instead";
        check(
            json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}, PREFERRED: preferred}}),
            &[
                &format!("{base}.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[1].{key}"),
                &format!("{base}.{PREFERRED}[0].preference.matchExpressions[1].{key}"),
                &format!(
                    "{base}.{PREFERRED}[0].preference.matchExpressions[1].values[0]: - is invalid, a valid label \
                     must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                     '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                ),
            ],
        );
    }

    #[test]
    fn terms_for_pods_without_selector_match_none() {
        let selects = json!({"topologyKey": "a", "labelSelector": {}});
        let term = json!({"topologyKey": "a"});
        let terms = json!({REQUIRED: [selects, term], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]});
        let message = "labelSelector: a null labelSelector results in matching no pod";
        check(
            json!({"podAntiAffinity": terms, "podAffinity": terms}),
            &[
                &format!("spec.affinity.podAffinity.{REQUIRED}[1].{message}"),
                &format!("spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.{message}"),
                &format!("spec.affinity.podAntiAffinity.{REQUIRED}[1].{message}"),
                &format!("spec.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.{message}"),
            ],
        );
    }
}
