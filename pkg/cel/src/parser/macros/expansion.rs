//! Macro expansion.

use super::super::builder::Builder;
use super::{Macro, Quantifier};
use crate::syntax::{Comprehension, Expr, Kind, Literal};

/// Offset and text of an error.
type ExpansionError = (u32, String);

/// Expands a call; `None` if the macro does not apply to it.
pub(in super::super) fn expand(
    builder: &mut Builder<'_>,
    found: Macro,
    offset: u32,
    target: Option<Expr>,
    args: &[Expr],
) -> Result<Option<Expr>, ExpansionError> {
    let mut expansion = Expansion { builder, offset };
    match (found, target) {
        (Macro::Has, _) => expansion.has(args[0]),
        (Macro::Quantifier(kind), Some(target)) => expansion.quantifier(kind, target, args),
        (Macro::Map, Some(target)) => expansion.map(target, args),
        (Macro::Filter, Some(target)) => expansion.filter(target, args),
        (Macro::OptMap, Some(target)) => expansion.opt_map(target, args, false),
        (Macro::OptFlatMap, Some(target)) => expansion.opt_map(target, args, true),
        (Macro::Bind, Some(target)) if !expansion.is_ident(target, "cel") => return Ok(None),
        (Macro::Bind, Some(_)) => expansion.bind(args),
        (Macro::SortBy, Some(target)) => expansion.sort_by(target, args),
        (Macro::TwoVariableQuantifier(kind), Some(target)) => {
            expansion.two_variable_quantifier(kind, target, args)
        }
        (Macro::TransformList, Some(target)) => expansion.transform_list(target, args),
        (Macro::TransformMap, Some(target)) => expansion.transform_map(target, args, true),
        (Macro::TransformMapEntry, Some(target)) => expansion.transform_map(target, args, false),
        (_, None) => return Ok(None),
    }
    .map(Some)
}

/// Parts of a comprehension besides its range and variables.
struct Parts {
    init: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
}

/// Expansion of one call. New nodes get the offset of the call's parenthesis. Ids follow cel-go's creation
/// order, arguments first.
pub(super) struct Expansion<'b, 'a> {
    pub(super) builder: &'b mut Builder<'a>,
    pub(super) offset: u32,
}

impl Expansion<'_, '_> {
    fn add(&mut self, kind: Kind) -> Expr {
        self.builder.add(self.offset, kind)
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.add(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        let name = self.builder.syntax.intern(name);
        self.add(Kind::Ident(name))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(self.builder.options.accumulator)
    }

    fn list(&mut self, elements: &[Expr]) -> Expr {
        let elements = self.builder.syntax.add_exprs(elements);
        let optional = self.builder.syntax.add_optional_indices(&[]);
        self.add(Kind::List { elements, optional })
    }

    fn map_literal(&mut self) -> Expr {
        let entries = self.builder.syntax.add_entries(&[]);
        self.add(Kind::Map(entries))
    }

    fn call(&mut self, function: &str, args: &[Expr]) -> Expr {
        let id = self.builder.id();
        self.builder.call(id, self.offset, function, None, args)
    }

    fn member_call(&mut self, function: &str, target: Expr, args: &[Expr]) -> Expr {
        let id = self.builder.id();
        self.builder.call(id, self.offset, function, Some(target), args)
    }

    fn comprehension(&mut self, range: Expr, variable: &str, second: Option<&str>, parts: Parts) -> Expr {
        let accumulator = self.builder.options.accumulator;
        self.fold(range, (variable, second), accumulator, parts)
    }

    fn fold(
        &mut self,
        range: Expr,
        variables: (&str, Option<&str>),
        accumulator: &str,
        parts: Parts,
    ) -> Expr {
        let syntax = &mut self.builder.syntax;
        let comprehension = Comprehension {
            range,
            variable: syntax.intern(variables.0),
            second: variables.1.map(|name| syntax.intern(name)),
            accumulator: syntax.intern(accumulator),
            init: parts.init,
            condition: parts.condition,
            step: parts.step,
            result: parts.result,
        };
        let kind = syntax.add_comprehension(comprehension);
        self.add(kind)
    }

    fn fail_at<T>(&self, at: Expr, message: &str) -> Result<T, ExpansionError> {
        Err((self.builder.syntax.node(at).offset, message.to_owned()))
    }

    fn ident_name(&self, expr: Expr) -> Option<String> {
        match self.builder.syntax.kind(expr) {
            Kind::Ident(name) => Some(self.builder.syntax.name(name).to_owned()),
            _ => None,
        }
    }

    fn is_ident(&self, expr: Expr, name: &str) -> bool {
        matches!(self.builder.syntax.kind(expr), Kind::Ident(is) if self.builder.syntax.name(is) == name)
    }

    /// Returns the name in an argument that declares a variable.
    fn variable(&self, arg: Expr, otherwise: &str) -> Result<String, ExpansionError> {
        match self.ident_name(arg) {
            Some(name) => Ok(name),
            None => self.fail_at(arg, otherwise),
        }
    }

    /// Rejects a variable that would shadow the accumulator.
    fn not_accumulator(&self, arg: Expr, name: &str) -> Result<(), ExpansionError> {
        if name == self.builder.options.accumulator || name == "__result__" {
            return self.fail_at(arg, "iteration variable overwrites accumulator variable");
        }
        Ok(())
    }

    fn two_variables(&self, args: &[Expr]) -> Result<(String, String), ExpansionError> {
        let first = self.variable(args[0], "argument must be a simple name")?;
        let second = self.variable(args[1], "argument must be a simple name")?;
        if first == second {
            return self.fail_at(args[1], &format!("duplicate variable name: {first}"));
        }
        self.not_accumulator(args[0], &first)?;
        self.not_accumulator(args[1], &second)?;
        Ok((first, second))
    }

    fn has(&mut self, arg: Expr) -> Result<Expr, ExpansionError> {
        match self.builder.syntax.kind(arg) {
            Kind::Select { operand, field, .. } => Ok(self.add(Kind::Select { operand, field, test: true })),
            _ => self.fail_at(arg, "invalid argument to has() macro"),
        }
    }

    fn quantifier(&mut self, kind: Quantifier, range: Expr, args: &[Expr]) -> Result<Expr, ExpansionError> {
        let name = self.variable(args[0], "argument must be a simple name")?;
        self.not_accumulator(args[0], &name)?;
        let parts = self.quantified(kind, args[1]);
        Ok(self.comprehension(range, &name, None, parts))
    }

    fn two_variable_quantifier(
        &mut self,
        kind: Quantifier,
        range: Expr,
        args: &[Expr],
    ) -> Result<Expr, ExpansionError> {
        let (first, second) = self.two_variables(args)?;
        let parts = self.quantified(kind, args[2]);
        Ok(self.comprehension(range, &first, Some(&second), parts))
    }

    fn quantified(&mut self, kind: Quantifier, predicate: Expr) -> Parts {
        match kind {
            Quantifier::All => {
                let init = self.literal(Literal::Bool(true));
                let accumulated = self.accumulator();
                let condition = self.call("@not_strictly_false", &[accumulated]);
                let accumulated = self.accumulator();
                let step = self.call("_&&_", &[accumulated, predicate]);
                Parts { init, condition, step, result: self.accumulator() }
            }
            Quantifier::Exists => {
                let init = self.literal(Literal::Bool(false));
                let accumulated = self.accumulator();
                let not = self.call("!_", &[accumulated]);
                let condition = self.call("@not_strictly_false", &[not]);
                let accumulated = self.accumulator();
                let step = self.call("_||_", &[accumulated, predicate]);
                Parts { init, condition, step, result: self.accumulator() }
            }
            Quantifier::ExistsOne => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let accumulated = self.accumulator();
                let one = self.literal(Literal::Int(1));
                let more = self.call("_+_", &[accumulated, one]);
                let step = self.only_if(Some(predicate), more);
                let count = self.accumulator();
                let one = self.literal(Literal::Int(1));
                Parts { init, condition, step, result: self.call("_==_", &[count, one]) }
            }
        }
    }

    /// Returns a step that keeps the accumulator unless the filter holds.
    fn only_if(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        let Some(filter) = filter else { return step };
        let unchanged = self.accumulator();
        self.call("_?_:_", &[filter, step, unchanged])
    }

    /// Returns a step that appends an element to the accumulator.
    fn append(&mut self, element: Expr) -> Expr {
        let accumulated = self.accumulator();
        let element = self.list(&[element]);
        self.call("_+_", &[accumulated, element])
    }

    fn map(&mut self, range: Expr, args: &[Expr]) -> Result<Expr, ExpansionError> {
        let (filter, function) = filter_and_function(args, 1);
        self.collect(range, args[0], filter, function)
    }

    fn filter(&mut self, range: Expr, args: &[Expr]) -> Result<Expr, ExpansionError> {
        self.collect(range, args[0], Some(args[1]), args[0])
    }

    fn collect(
        &mut self,
        range: Expr,
        arg: Expr,
        filter: Option<Expr>,
        element: Expr,
    ) -> Result<Expr, ExpansionError> {
        let name = self.variable(arg, "argument is not an identifier")?;
        self.not_accumulator(arg, &name)?;
        let init = self.list(&[]);
        let condition = self.literal(Literal::Bool(true));
        let step = self.append(element);
        let step = self.only_if(filter, step);
        let result = self.accumulator();
        Ok(self.comprehension(range, &name, None, Parts { init, condition, step, result }))
    }

    fn transform_list(&mut self, range: Expr, args: &[Expr]) -> Result<Expr, ExpansionError> {
        let (first, second) = self.two_variables(args)?;
        let (filter, function) = filter_and_function(args, 2);
        let step = self.append(function);
        let step = self.only_if(filter, step);
        let init = self.list(&[]);
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        Ok(self.comprehension(range, &first, Some(&second), Parts { init, condition, step, result }))
    }

    /// Expands `transformMap`, which keeps keys, or `transformMapEntry`, whose function returns whole
    /// entries.
    fn transform_map(
        &mut self,
        range: Expr,
        args: &[Expr],
        keeps_keys: bool,
    ) -> Result<Expr, ExpansionError> {
        let (first, second) = self.two_variables(args)?;
        let (filter, function) = filter_and_function(args, 2);
        let mut insert = vec![self.accumulator()];
        if keeps_keys {
            insert.push(self.ident(&first));
        }
        insert.push(function);
        let step = self.call("cel.@mapInsert", &insert);
        let step = self.only_if(filter, step);
        let init = self.map_literal();
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        Ok(self.comprehension(range, &first, Some(&second), Parts { init, condition, step, result }))
    }

    fn bind(&mut self, args: &[Expr]) -> Result<Expr, ExpansionError> {
        let name = self.variable(args[0], "cel.bind() variable names must be simple identifiers")?;
        let nothing = self.list(&[]);
        Ok(self.bind_in(nothing, &name, args[1], args[2]))
    }

    /// Binds a name to a value in an expression. The result is a comprehension over the empty list, which
    /// never runs its step, with the name as accumulator.
    fn bind_in(&mut self, nothing: Expr, name: &str, init: Expr, result: Expr) -> Expr {
        let condition = self.literal(Literal::Bool(false));
        let parts = Parts { init, condition, step: self.ident(name), result };
        self.fold(nothing, ("#unused", None), name, parts)
    }

    fn opt_map(&mut self, target: Expr, args: &[Expr], flat: bool) -> Result<Expr, ExpansionError> {
        let function = if flat { "optFlatMap()" } else { "optMap()" };
        let name =
            self.variable(args[0], &format!("{function} variable name must be a simple identifier"))?;
        let has_value = self.member_call("hasValue", target, &[]);
        let nothing = self.list(&[]);
        let copy = self.copy(target);
        let value = self.member_call("value", copy, &[]);
        let mapped = self.bind_in(nothing, &name, value, args[1]);
        let mapped = if flat { mapped } else { self.call("optional.of", &[mapped]) };
        let none = self.call("optional.none", &[]);
        Ok(self.call("_?_:_", &[has_value, mapped, none]))
    }

    fn sort_by(&mut self, target: Expr, args: &[Expr]) -> Result<Expr, ExpansionError> {
        const INPUT: &str = "@__sortBy_input__";
        let input = self.ident(INPUT);
        if matches!(self.builder.syntax.kind(target), Kind::Literal(_) | Kind::Map(_) | Kind::Struct { .. }) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return self.fail_at(target, message);
        }
        let range = self.copy(input);
        let keys = self.map(range, args)?;
        let list = self.copy(input);
        let sorted = self.member_call("@sortByAssociatedKeys", list, &[keys]);
        let nothing = self.list(&[]);
        let condition = self.literal(Literal::Bool(false));
        let parts = Parts { init: target, condition, step: input, result: sorted };
        Ok(self.fold(nothing, ("#unused", None), INPUT, parts))
    }
}

/// Splits the arguments after the variables into the optional predicate and the function.
fn filter_and_function(args: &[Expr], variables: usize) -> (Option<Expr>, Expr) {
    match args[variables..] {
        [filter, function, ..] => (Some(filter), function),
        _ => (None, args[variables]),
    }
}
