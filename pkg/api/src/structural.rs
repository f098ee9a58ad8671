//! Structural schemas (KEP-20190425), compiled: what a definition says of the objects of its resource, as nodes that
//! prune, fill in defaults and validate without looking at the schema's text again.
//!
//! The steps of a write are those of upstream's `apiextensions-apiserver/pkg/apiserver/schema`: decoded bodies are
//! [pruned](Structural::coerce), then [defaulted](Structural::default), and what is about to be stored is
//! [validated](Structural::validate).

mod check;
mod coerce;
mod compile;
mod correlate;
mod default;
mod embedded;
mod formats;
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

pub use coerce::{Coercion, drop_malformed_metadata};
pub use compile::{Literals, literal};
pub use correlate::Correlation;
pub use node::Node;

/// The schema of one version of a custom resource.
#[derive(Debug)]
pub struct Structural {
    root: Node,
}

impl Structural {
    /// Compiles an OpenAPI v3 schema. `literals` says how it holds values such as defaults.
    pub fn new(schema: &Object, literals: Literals) -> Self {
        let mut root = Node::compile(schema, literals);
        // At the root of a resource metadata is never pruned.
        root.embedded = true;
        Structural { root }
    }

    /// The schema of a version without one, which knows nothing.
    pub fn unknown() -> Self {
        Structural::new(&Object::new(), Literals::Plain)
    }

    /// Leaves of an object what the schema knows; a null that may not be one and has no default goes, too. See
    /// [`Coercion`] for what is said about it.
    ///
    /// # Errors
    /// The metadata of an embedded object is none.
    pub fn coerce(&self, object: &mut Object, coercion: Coercion) -> Result<Vec<String>, String> {
        coerce::coerce(&self.root, object, coercion)
    }

    /// Fills in defaults.
    ///
    /// # Errors
    /// They take more room than [defaults may](Room::of_defaults); some are filled in.
    pub fn default(&self, object: &mut Object) -> Result<(), BudgetExceeded> {
        default::default_members(&self.root, object, &mut DecodeBudget::of_defaults())
    }

    /// Whether an object without a status is given one.
    pub fn fills_in_status(&self) -> bool {
        self.root.property("status").is_some_and(|status| status.default.is_some())
    }

    /// What is wrong with a new object.
    pub fn validate(&self, object: &Object) -> ErrorList {
        check::validate_object(&Path::NIL, &self.root, object, Correlation::NONE)
    }

    /// What is wrong with an object that replaces `old`. What is wrong with parts that did not change is left out
    /// (KEP-4008).
    pub fn validate_update(&self, object: &Object, old: &Object) -> ErrorList {
        check::validate_object(
            &Path::NIL,
            &self.root,
            object,
            Correlation::of_members(&self.root, object, old),
        )
    }

    /// What is wrong with a new status that replaces `old`.
    pub fn validate_status_update(&self, status: &Value, old: Option<&Value>) -> ErrorList {
        let Some(node) = self.root.property("status") else { return ErrorList::new() };
        let correlation = old.map_or(Correlation::NONE, |old| Correlation::of(node, status, old));
        check::faults(&Path::root("status"), node, status, correlation)
    }

    /// What is wrong with objects within the object.
    pub fn validate_embedded(&self, object: &Object) -> ErrorList {
        embedded::validate_members(&self.root, object)
    }

    /// Elements of sets, and keys of lists of type map, that are there more than once.
    pub fn validate_lists(&self, object: &Object) -> ErrorList {
        lists::validate_members(&self.root, object)
    }
}

/// What is wrong with a default of a node, which may be a whole object. `path` is that of the value. Only if it and
/// objects within say what they are, it is held against its schema.
pub fn validate_default(path: &Path<'_>, node: &Node, value: &Value, is_object: bool) -> ErrorList {
    match embedded::validate(path, node, value, is_object) {
        errors if errors.is_empty() => check::faults(path, node, value, Correlation::NONE),
        errors => errors,
    }
}

/// What is wrong with a value of a node.
pub fn faults(path: &Path<'_>, node: &Node, value: &Value) -> ErrorList {
    check::faults(path, node, value, Correlation::NONE)
}
