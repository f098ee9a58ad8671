//! Declarative validation: rules that upstream writes as `+k8s:` tags beside the Go types, as one generated table,
//! and their evaluation.

mod checks;
mod errors;
mod evaluator;
mod formats;
mod lists;
mod operation;
mod rules;
mod slots;
#[rustfmt::skip]
mod table;
mod unions;

use apimachinery::field::{ErrorList, Path};
use component_base::features::{Gate, Gates};
use schema::object::Object;
use schema::table::Message;

use self::errors::Findings;
use self::evaluator::Evaluator;
use self::operation::Operation;
use self::rules::TypeRules;
use self::unions::Struct;

const SCALE_TO_ZERO: &str = "HPAScaleToZero";

/// Adds the errors of declarative rules to those of hand-written rules, some of which they replace (upstream's
/// `ValidateDeclarativelyWithMigrationChecks`). `old` is the object that an update replaces.
pub(crate) fn validate(
    message: &'static Message,
    new: &Object,
    old: Option<&Object>,
    gates: &Gates,
    hand_written: ErrorList,
) -> ErrorList {
    let Some(rules) = rules_of(message) else { return hand_written };
    let option = |name: &str| is_enabled(name, old, gates);
    let findings = Findings::new(gates.enabled(Gate::DeclarativeValidationBeta));
    let operation = Operation { update: old.is_some(), option: &option, findings };
    let mut evaluator = Evaluator { operation };
    evaluator.structure(rules, Struct { message, new, old }, &Path::NIL);
    evaluator.operation.findings.merged(hand_written)
}

/// True if validation of the type runs any rules.
pub(crate) fn has_rules(message: &Message) -> bool {
    rules_of(message).is_some()
}

fn rules_of(message: &Message) -> Option<&'static TypeRules> {
    let at = table::TYPES.binary_search_by(|rules| rules.name.cmp(message.name)).ok()?;
    table::TYPES.get(at).copied()
}

/// Returns the state of a validation option. Options have the names of gates. Autoscalers that already have no
/// replicas may keep them.
fn is_enabled(option: &str, old: Option<&Object>, gates: &Gates) -> bool {
    let scaled_to_zero = || {
        let replicas = |old| schema::object::get_i64(old, &["spec", "minReplicas"]);
        option == SCALE_TO_ZERO && old.and_then(replicas) == Some(0)
    };
    Gate::find(option).is_some_and(|gate| gates.enabled(gate)) || scaled_to_zero()
}

#[cfg(test)]
mod tests;
