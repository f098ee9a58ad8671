//! Variables of policies. They are computed lazily, once for all expressions of a group (upstream's
//! `cel/composition.go`).

use std::cell::{Cell, OnceCell};
use std::fmt;

use apimachinery::go_quote::quote;
use cel::admission::{Options, Returns, Variables as Declared, environment};
use cel::arena::Arena;
use cel::env::Environment;
use cel::value::{MapView, Value};
use schema::object::Object;

use super::{Inputs, Program};

/// Maximum depth of references between variables, because each level uses stack. Upstream has no limit.
const DEPTH_MAX: u32 = 64;

/// The compiled variables of a policy.
#[derive(Default)]
pub(crate) struct Variables(Vec<(Box<str>, Program)>);

impl Variables {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads the variables of a policy's spec. Returns their declarations too. Each variable may refer to
    /// earlier ones.
    pub(crate) fn read(spec: &Object, options: Options) -> (Self, Declared) {
        let mut declared = Declared::new();
        let mut variables: Vec<(Box<str>, Program)> = Vec::new();
        for variable in api::tree::children(spec, "variables") {
            let name = api::tree::text(variable, "name");
            let env = stored(options, &declared);
            let text = api::tree::text(variable, "expression");
            let (program, checked) = Program::compile(&env, text, Returns::Any);
            declared.declare(name, checked.as_ref());
            variables.push((name.into(), program));
        }
        (Variables(variables), declared)
    }
}

/// Returns the environment of stored policies. Features of any release are allowed.
pub(crate) fn stored(options: Options, declared: &Declared) -> Environment {
    environment(u32::MAX, options, Some(declared))
}

/// The variables of a policy for one group of expressions and one request. All values are in an arena.
pub(crate) struct LazyVariables<'a> {
    variables: &'a Variables,
    arena: &'a Arena,
    inputs: OnceCell<Inputs<'a>>,
    values: &'a [Cell<Option<Value<'a>>>],
    /// Cost since the last subtraction from a budget.
    cost: Cell<u64>,
    depth: Cell<u32>,
}

impl<'a> LazyVariables<'a> {
    /// Returns `inputs` extended with the computed variables. If the arena is full, the variables are
    /// missing.
    pub(crate) fn begin(variables: &'a Variables, inputs: &Inputs<'a>, arena: &'a Arena) -> Inputs<'a> {
        let without = Inputs { variables: None, ..*inputs };
        let Ok(values) = arena.cells(variables.0.len()) else { return without };
        let cost = Cell::new(0);
        let depth = Cell::new(0);
        let computed = LazyVariables { variables, arena, inputs: OnceCell::new(), values, cost, depth };
        let Ok(computed) = arena.alloc(computed) else { return without };
        let variables = arena.view(computed).ok();
        *computed.inputs.get_or_init(|| Inputs { variables, variable_cost: Some(&computed.cost), ..*inputs })
    }

    fn compute(&'a self, name: &str, program: &'a Program) -> Value<'a> {
        let Some(inputs) = self.inputs.get() else { return Value::Null };
        let failed = |action: &str, error: &dyn fmt::Display| {
            let text =
                format_args!("composited variable {} fails to {action}: {error}", quote(name)).to_string();
            self.arena.error(text).unwrap_or(Value::Error("operation cancelled: actual cost limit exceeded"))
        };
        if self.depth.get() >= DEPTH_MAX {
            let error = format!("variables refer to each other over more than {DEPTH_MAX} steps");
            return failed("evaluate", &error);
        }
        self.depth.set(self.depth.get() + 1);
        let value = match program.plan() {
            Err(error) => failed("compile", error),
            Ok(plan) => {
                let evaluation = inputs.run(plan, self.arena);
                self.cost.set(self.cost.get().saturating_add(evaluation.cost));
                evaluation.result().unwrap_or_else(|error| failed("evaluate", &error))
            }
        };
        self.depth.set(self.depth.get() - 1);
        value
    }
}

impl fmt::Debug for LazyVariables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.variables.0.iter().map(|(name, program)| (name, program.text()))).finish()
    }
}

impl<'a> MapView<'a> for LazyVariables<'a> {
    fn get(&'a self, key: &str) -> Option<Value<'a>> {
        let place = self.variables.0.iter().rposition(|(name, _)| **name == *key)?;
        let (name, program) = self.variables.0.get(place)?;
        let slot = self.values.get(place)?;
        if let Some(value) = slot.get() {
            return Some(value);
        }
        let value = self.compute(name, program);
        slot.set(Some(value));
        Some(value)
    }

    fn len(&self) -> usize {
        self.variables.0.len()
    }

    fn key(&'a self, place: usize) -> Option<&'a str> {
        self.variables.0.get(place).map(|(name, _)| &**name)
    }
}
