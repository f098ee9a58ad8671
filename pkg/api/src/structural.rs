//! Compiled structural schemas (KEP-20190425). The nodes prune, set defaults and validate without reading the
//! schema's text again.
//!
//! The steps of a write are those of upstream's `apiextensions-apiserver/pkg/apiserver/schema`. Decoded
//! bodies are [pruned](Structural::coerce), then [defaulted](Structural::default). Objects are
//! [validated](Structural::validate) before they are stored.

mod check;
mod coerce;
mod compile;
mod correlate;
mod default;
mod embedded;
mod formats;
mod kind;
mod lists;
mod node;
mod number;
mod prune;
#[cfg(test)]
mod tests;

use apimachinery::field::{ErrorList, Path};
use jsontree::Value;
use schema::memory::{BudgetExceeded, DecodeBudget};
use schema::object::Object;

pub use coerce::{Coercion, CoercionError, drop_malformed_metadata};
pub use compile::{Literals, literal};
pub use correlate::Correlation;
pub use node::Node;

/// The schema of one version of a custom resource.
#[derive(Debug)]
pub struct Structural {
    root: Node,
}

impl Structural {
    /// Compiles an OpenAPI v3 schema. `literals` is its encoding of values such as defaults.
    pub fn new(schema: &Object, literals: Literals) -> Self {
        let mut root = Node::compile(schema, literals);
        // The metadata at the root of a resource is never pruned.
        root.embedded = true;
        Structural { root }
    }

    /// Returns the schema of a version without one. It has no properties.
    pub fn unknown() -> Self {
        Structural::new(&Object::new(), Literals::Plain)
    }

    /// Prunes unknown fields. Also removes null from fields that are not nullable and have no default. The
    /// list of pruned paths depends on [`Coercion`].
    ///
    /// # Errors
    /// The metadata of an embedded object is malformed.
    pub fn coerce(&self, object: &mut Object, coercion: Coercion) -> Result<Vec<String>, CoercionError> {
        coerce::coerce(&self.root, object, coercion)
    }

    /// Sets defaults.
    ///
    /// # Errors
    /// The defaults exceed [their memory budget](DecodeBudget::of_defaults). Some defaults are then already set.
    pub fn default(&self, object: &mut Object) -> Result<(), BudgetExceeded> {
        default::default_members(&self.root, object, &mut DecodeBudget::of_defaults())
    }

    /// True if defaulting adds a status to an object without one.
    pub fn fills_in_status(&self) -> bool {
        self.root.property("status").is_some_and(|status| status.default.is_some())
    }

    pub fn validate(&self, object: &Object) -> ErrorList {
        check::validate_object(&Path::NIL, &self.root, object, Correlation::NONE)
    }

    /// Validates an object that replaces `old`. Errors in unchanged parts are omitted (KEP-4008, ratcheting).
    pub fn validate_update(&self, object: &Object, old: &Object) -> ErrorList {
        check::validate_object(
            &Path::NIL,
            &self.root,
            object,
            Correlation::of_members(&self.root, object, old),
        )
    }

    /// Validates a new status that replaces `old`.
    pub fn validate_status_update(&self, status: &Value, old: Option<&Value>) -> ErrorList {
        let Some(node) = self.root.property("status") else { return ErrorList::new() };
        let correlation = old.map_or(Correlation::NONE, |old| Correlation::of(node, status, old));
        check::faults(&Path::root("status"), node, status, correlation)
    }

    /// Validates the objects embedded in the object.
    pub fn validate_embedded(&self, object: &Object) -> ErrorList {
        embedded::validate_members(&self.root, object)
    }

    /// Reports duplicate items of sets and duplicate keys of lists of type map.
    pub fn validate_lists(&self, object: &Object) -> ErrorList {
        lists::validate_members(&self.root, object)
    }
}

/// Validates the default of a node at `path`; it may be a whole object. The schema is checked only if the
/// value and the objects in it have valid type information.
pub fn validate_default(path: &Path<'_>, node: &Node, value: &Value, is_object: bool) -> ErrorList {
    match embedded::validate(path, node, value, is_object) {
        errors if errors.is_empty() => check::faults(path, node, value, Correlation::NONE),
        errors => errors,
    }
}

pub fn faults(path: &Path<'_>, node: &Node, value: &Value) -> ErrorList {
    check::faults(path, node, value, Correlation::NONE)
}
