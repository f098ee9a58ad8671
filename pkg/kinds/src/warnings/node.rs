//! Warnings about nodes and node selectors (`pkg/api/node/util.go`).

use super::collector::Warnings;
use api::tree::{children, list, pairs, text};
use apimachinery::field::Path;
use apimachinery::names::is_label_value;
use schema::object::Object;

/// Old node labels, each with its warning.
const OLD_LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

/// Returns the warning about an old node label.
pub(crate) fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(label, _)| *label == key).map(|(_, message)| *message)
}

/// Warns about a `NodeSelectorTerm`. Validation checks the values of required terms; only those of preferred
/// terms are checked here.
pub(crate) fn selector_term(path: &Path<'_>, term: &Object, check_values: bool, out: &mut Warnings) {
    let path = path.child("matchExpressions");
    for (index, expression) in children(term, "matchExpressions").enumerate() {
        let path = path.index(index);
        expression_key(&path, expression, out);
        if check_values {
            values(&path.child("values"), expression, out);
        }
    }
}

/// Warns about a `LabelSelector` for nodes.
pub(crate) fn label_selector(path: &Path<'_>, selector: &Object, out: &mut Warnings) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in children(selector, "matchExpressions").enumerate() {
        expression_key(&expressions.index(index), expression, out);
    }
    for (key, _) in pairs(selector, "matchLabels") {
        if let Some(message) = old_label(key) {
            out.add(format_args!("{}: {message}", path.child("matchLabels").child(key)));
        }
    }
}

fn expression_key(path: &Path<'_>, expression: &Object, out: &mut Warnings) {
    let key = text(expression, "key");
    if let Some(message) = old_label(key) {
        out.add(format_args!("{}: {key} is {message}", path.child("key")));
    }
}

fn values(path: &Path<'_>, expression: &Object, out: &mut Warnings) {
    for (index, value) in list(expression, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        for message in is_label_value(value) {
            out.add(format_args!("{}: {value} is invalid, {message}", path.index(index)));
        }
    }
}
