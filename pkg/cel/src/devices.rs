//! Device selector expressions (DRA): environment and cost limit.

use std::sync::Arc;

use crate::checked::Checked;
use crate::compile::compile;
use crate::declared::{Builder, Declared, DeclaredSizes};
use crate::env::Environment;
use crate::estimate::{DataPosition, estimate};
use crate::overloads::Libraries;
use crate::plan::Plan;
use crate::types::{Shape, Type, Types};

const DEVICE: &str = "device";
const SEMVER: &str = "kubernetes.Semver";
/// Maximum lengths of an attribute's domain, an attribute's name, and a driver name.
const DOMAIN_MAX: u64 = 63;
const ID_MAX: u64 = 32;
const DRIVER_MAX: u64 = 63;
/// Maximum length of an attribute value.
const VALUE_MAX: u64 = 64;
/// Maximum number of attributes and capacities of a device.
const ATTRIBUTES_MAX: u64 = 32;
/// Cost limit of a selector.
const COST_MAX: u64 = 1_000_000;
/// Cost limit of the derived attributes of a claim, together and each.
pub const DERIVED_COST_MAX: u64 = 1_000_000;

/// Compiler of device selectors.
pub struct Selectors {
    env: Environment,
    declared: Arc<Declared>,
    device: DataPosition,
    /// True if attributes can be lists, whose type is only determined at run time.
    lists: bool,
}

/// Error of a selector expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// The expression does not compile, or has the wrong type.
    Invalid(String),
    /// The expression contains an invalid pattern.
    Program(String),
    /// The cost estimate exceeds the limit.
    Cost,
}

/// Device features that expressions can use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// `allowMultipleAllocations`.
    pub multiple_allocations: bool,
    /// List attributes, and `includes` also in release 1.36.
    pub lists: bool,
}

impl Selectors {
    /// Creates the compiler of release 1.`minor`.
    pub fn new(minor: u32, features: Features) -> Self {
        let mut builder = Builder::new();
        let device = declare(&mut builder, features);
        let declared = Arc::new(builder.finish(minor));
        let mut libraries = Libraries::BINDINGS;
        if features.lists && minor >= 36 {
            libraries = libraries.with(Libraries::INCLUDES);
        }
        let env = Environment::of_release(minor).with(libraries);
        let env = env.declare(declared.types().clone(), declared.clone());
        let env = env.variable(DEVICE, declared.type_of(device));
        Self { env, declared, device, lists: features.lists }
    }

    /// Compiles a selector.
    ///
    /// # Errors
    ///
    /// In upstream's words.
    pub fn compile(&self, text: &str) -> Result<Checked, SelectorError> {
        let checked = self.checked(text, |result, _| {
            let fits = matches!(result, Type::BOOL | Type::ANY) || (self.lists && result == Type::DYN);
            (!fits).then_some("bool or the unknown type")
        })?;
        if self.cost_of(&checked) > COST_MAX {
            return Err(SelectorError::Cost);
        }
        Ok(checked)
    }

    /// Compiles the expression of a derived attribute, and returns its maximum cost. Its result is a scalar, or a list
    /// of scalars if attributes can be lists.
    ///
    /// # Errors
    ///
    /// In upstream's words.
    pub fn derived_attribute_cost(&self, text: &str) -> Result<u64, SelectorError> {
        let is_scalar = |ty: Type, types: &Types| {
            matches!(ty, Type::BOOL | Type::INT | Type::STRING | Type::ANY | Type::DYN)
                || types.runtime_name(ty) == SEMVER
        };
        let checked = self.checked(text, |result, types| {
            let is_list = |types: &Types| match types.shape(result) {
                Shape::List(element) => is_scalar(element, types),
                _ => false,
            };
            let fits = is_scalar(result, types) || (self.lists && is_list(types));
            let expected = if self.lists {
                "a primitive scalar (string, integer, boolean, semver) or a list of these scalars"
            } else {
                "a primitive scalar (string, integer, boolean, semver)"
            };
            (!fits).then_some(expected)
        })?;
        Ok(self.cost_of(&checked))
    }

    /// Compiles an expression. `mismatch` returns the expected result if the type of the result is another.
    fn checked(
        &self,
        text: &str,
        mismatch: impl FnOnce(Type, &Types) -> Option<&'static str>,
    ) -> Result<Checked, SelectorError> {
        let issues = |issues| SelectorError::Invalid(format!("compilation failed: {issues}"));
        let checked = compile(&self.env, text).map_err(issues)?;
        let result = checked.result();
        if let Some(expected) = mismatch(result, &checked.types) {
            let result_type = checked.types.declared_text(result);
            let detail = format!("must evaluate to {expected}, not {result_type}");
            return Err(SelectorError::Invalid(detail));
        }
        match Plan::validate(&checked) {
            Err(cause) => Err(SelectorError::Program(format!("program instantiation failed: {cause}"))),
            Ok(()) => Ok(checked),
        }
    }

    fn cost_of(&self, checked: &Checked) -> u64 {
        let mut sizes = DeclaredSizes { declared: &self.declared, root: self.device, variable: Some(DEVICE) };
        estimate(checked, &mut sizes).max
    }
}

/// Declares the device with its size bounds.
fn declare(builder: &mut Builder, features: Features) -> DataPosition {
    let domain = builder.simple(Type::STRING, DOMAIN_MAX, 2);
    let id = builder.simple(Type::STRING, ID_MAX, 2);
    // A list has fewer values than a scalar may have characters, so the same bound holds.
    let value_type = if features.lists { Type::DYN } else { Type::ANY };
    let value = builder.simple(value_type, VALUE_MAX, 1);
    let attributes = builder.map(id, value, ATTRIBUTES_MAX);
    builder.select_values(attributes);
    let attributes = builder.map(domain, attributes, ATTRIBUTES_MAX);
    let quantity = builder.types().object("kubernetes.Quantity");
    let quantity = builder.simple(quantity, 0, 8);
    let capacity = builder.map(id, quantity, ATTRIBUTES_MAX);
    let capacity = builder.map(domain, capacity, ATTRIBUTES_MAX);
    let mut fields = vec![
        ("driver".to_owned(), builder.simple(Type::STRING, DRIVER_MAX, 2)),
        ("attributes".to_owned(), attributes),
        ("capacity".to_owned(), capacity),
    ];
    if features.multiple_allocations {
        fields.push(("allowMultipleAllocations".to_owned(), builder.simple(Type::BOOL, 1, 4)));
    }
    builder.object("kubernetes.DRADevice", fields, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_attributes_are_scalars() {
        let cost = |lists: bool, text: &str| {
            let selectors = Selectors::new(37, Features { multiple_allocations: true, lists });
            selectors.derived_attribute_cost(text).map(|_| ())
        };
        for text in ["device.driver", "1", "device.attributes['a.b'].healthy", "semver('1.2.3')"] {
            assert_eq!(cost(false, text), Ok(()), "{text}");
        }
        assert_eq!(cost(true, "[1, 2]"), Ok(()));
        let not_scalar = |ty: &str| {
            let detail =
                format!("must evaluate to a primitive scalar (string, integer, boolean, semver), not {ty}");
            Err(SelectorError::Invalid(detail))
        };
        assert_eq!(cost(false, "[1, 2]"), not_scalar("list(int)"));
        assert_eq!(cost(false, "1.5"), not_scalar("double"));
    }

    #[test]
    fn devices_are_selected_by_booleans_that_are_cheap() {
        let selectors = Selectors::new(35, Features { multiple_allocations: true, lists: false });
        let invalid = |text: &str| match selectors.compile(text) {
            Err(SelectorError::Invalid(detail)) => detail,
            unexpected => panic!("{text}: {unexpected:?}"),
        };
        let domain = "device.attributes['a.b']";
        for text in [
            "device.driver == 'a' && device.allowMultipleAllocations",
            "device.attributes['a.b'].healthy",
            "cel.bind(a, device.attributes['a.b'], a.x && a.y)",
            "device.capacity['a.b'].memory.compareTo(quantity('1Gi')) > 0",
        ] {
            assert!(selectors.compile(text).is_ok(), "{text}");
        }
        assert_eq!(invalid("1"), "must evaluate to bool or the unknown type, not int");
        assert!(invalid(&format!("{domain}.a.includes(1)")).contains("undeclared reference to 'includes'"));
        let nested = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, \
                      device.attributes.all(d, a.contains(b) && c.contains(d)))))";
        assert_eq!(selectors.compile(nested).err(), Some(SelectorError::Cost));
    }
}
