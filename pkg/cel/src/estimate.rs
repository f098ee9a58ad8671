//! Static cost estimate: minimum and maximum cost of an expression before it runs. It is cel-go's estimate
//! over ranges, with Kubernetes' rules for its functions ([`library`]). Arithmetic saturates, except where
//! cel-go's wraps.

mod functions;
mod library;
mod lists;
mod path;
mod range;

pub use path::{DataPosition, NoSizes, Segment, Sizes};
pub use range::Range;

use crate::checked::Checked;
use crate::overloads::Overload;
use crate::syntax::{Comprehension, Expr, Kind, Literal, Name, Span};
use crate::types::{Shape, Type};
use path::Path;

/// Cost of an identifier and of a selection.
const SELECT: Range = Range::fixed(1);
/// Cost of constructing a list.
const LIST: Range = Range::fixed(10);
/// Cost of constructing a map.
const MAP: Range = Range::fixed(30);
/// Cost of constructing a message.
const MESSAGE: Range = Range::fixed(40);
/// Cost of traversing a string, per code point.
const TRAVERSAL: f64 = 0.1;
/// Cost of a pattern, per code point.
const PATTERN: f64 = 0.25;

/// Estimates the cost of an expression for inputs of the given sizes.
pub fn estimate(checked: &Checked, sizes: &mut dyn Sizes) -> Range {
    estimate_with(checked, sizes, Range::fixed(0), true)
}

/// Like [`estimate`], with another cost of `has()`, and optionally with cel-go's rules only.
pub fn estimate_with(checked: &Checked, sizes: &mut dyn Sizes, presence: Range, kubernetes: bool) -> Range {
    let nodes = checked.syntax.len();
    let mut estimator = Estimator {
        checked,
        sizes,
        presence,
        kubernetes,
        paths: vec![Path::Empty; nodes],
        sizes_by_node: vec![None; nodes],
        entries: vec![None; nodes],
        locals: Vec::new(),
    };
    checked.syntax.root().map_or(Range::fixed(0), |root| estimator.cost(root))
}

/// Sizes of the entries of a list or map.
#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entries {
    fn union(this: Option<Self>, other: Option<Self>) -> Option<Self> {
        let this = this?;
        let other = other?;
        Some(Self {
            is_list: this.is_list,
            key: this.key.union(other.key),
            value: this.value.union(other.value),
        })
    }
}

/// A variable of a comprehension.
#[derive(Clone, Copy)]
struct Local {
    name: Name,
    path: Path,
    size: Option<Range>,
    entries: Option<Entries>,
}

/// An argument of a call, as input of function estimates.
#[derive(Clone, Copy)]
struct Argument {
    expr: Option<Expr>,
    path: Path,
    ty: Type,
    size: Option<Range>,
}

/// Cost of a call without its arguments, and the size of its result if it can be computed.
struct Estimate {
    cost: Range,
    size: Option<Range>,
}

impl Estimate {
    fn new(cost: Range) -> Self {
        Self { cost, size: None }
    }

    fn sized(cost: Range, size: Range) -> Self {
        Self { cost, size: Some(size) }
    }
}

struct Estimator<'a> {
    checked: &'a Checked,
    sizes: &'a mut dyn Sizes,
    presence: Range,
    kubernetes: bool,
    /// By node: path of its value in the declared data.
    paths: Vec<Path>,
    /// By node: computed sizes.
    sizes_by_node: Vec<Option<Range>>,
    /// By node: sizes of entries.
    entries: Vec<Option<Entries>>,
    locals: Vec<Local>,
}

impl Estimator<'_> {
    fn cost(&mut self, expr: Expr) -> Range {
        match self.checked.syntax.kind(expr) {
            Kind::Literal(_) => Range::fixed(0),
            Kind::Ident(name) => {
                self.paths[expr.index()] = match self.local(name) {
                    Some(local) => local.path,
                    None => self.step(Path::Empty, Segment::Name(self.checked.syntax.name(name))),
                };
                SELECT
            }
            Kind::Select { operand, test: true, .. } => self.presence.plus(self.cost(operand)),
            Kind::Select { operand, field, test: false } => {
                let mut sum = self.cost(operand);
                if let Shape::Map(..) | Shape::Struct(_) | Shape::Param(_) = self.shape(operand) {
                    sum = sum.plus(SELECT);
                }
                let path = self.path(operand);
                self.paths[expr.index()] = self.step(path, Segment::Name(self.checked.syntax.name(field)));
                sum
            }
            Kind::Call { function, target, args } => self.cost_call(expr, function, target, args),
            Kind::List { elements, .. } => self.cost_list(expr, elements),
            Kind::Map(entries) => self.cost_map(expr, entries),
            Kind::Struct { fields, .. } => {
                let checked = self.checked;
                let fields = checked.syntax.entries(fields).iter();
                fields.fold(Range::fixed(0), |sum, field| sum.plus(self.cost(field.value))).plus(MESSAGE)
            }
            Kind::Comprehension(number) => {
                let comprehension = *self.checked.syntax.comprehension(number);
                if self.is_bind(&comprehension) {
                    self.cost_bind(expr, &comprehension)
                } else {
                    self.cost_comprehension(expr, &comprehension)
                }
            }
        }
    }

    fn cost_list(&mut self, expr: Expr, elements: Span) -> Range {
        let checked = self.checked;
        let elements = checked.syntax.exprs(elements);
        let mut sum = LIST;
        let mut size = Range::none(elements.is_empty());
        for element in elements {
            sum = sum.plus(self.cost(*element));
            size = size.union(self.size_or_unknown(*element));
        }
        self.entries[expr.index()] = Some(Entries { is_list: true, key: Range::fixed(1), value: size });
        sum
    }

    fn cost_map(&mut self, expr: Expr, entries: Span) -> Range {
        let checked = self.checked;
        let entries = checked.syntax.entries(entries);
        let mut sum = MAP;
        let mut key_size = Range::none(entries.is_empty());
        let mut value_size = key_size;
        for entry in entries {
            let crate::syntax::Key::Expr(key) = entry.key else { continue };
            sum = sum.plus(self.cost(key)).plus(self.cost(entry.value));
            key_size = key_size.union(self.size_or_unknown(key));
            value_size = value_size.union(self.size_or_unknown(entry.value));
        }
        self.entries[expr.index()] = Some(Entries { is_list: false, key: key_size, value: value_size });
        sum
    }

    fn cost_comprehension(&mut self, expr: Expr, comprehension: &Comprehension) -> Range {
        let Comprehension { range, variable, second, accumulator, init, condition, step, result } =
            *comprehension;
        let mut sum = self.cost(range).plus(self.cost(init));
        let outer = self.locals.len();
        self.push_bound(accumulator, init);
        let inner = self.locals.len();
        match second {
            Some(second) => {
                self.push_key(variable, range);
                self.push_value(second, range);
            }
            None if self.is_list(range) => self.push_value(variable, range),
            None => self.push_key(variable, range),
        }
        let condition_cost = self.cost(condition);
        let step_cost = self.cost(step);
        self.locals.truncate(inner);
        sum = sum.plus(self.cost(result));
        self.locals.truncate(outer);
        let count = self.size_or_unknown(range);
        sum = sum.plus(count.times(step_cost.plus(condition_cost)));
        match self.checked.syntax.kind(init) {
            Kind::Literal(_) => self.set_size(expr, |this| this.size(init)),
            Kind::List { .. } | Kind::Map(_) => {
                self.sizes_by_node[expr.index()] = Some(count);
                if let Some(entries) = self.entries(step) {
                    self.entries[expr.index()] = Some(entries);
                }
            }
            _ => {}
        }
        sum
    }

    /// Returns true for a bind: a comprehension over an empty list whose accumulator is the bound value.
    fn is_bind(&self, comprehension: &Comprehension) -> bool {
        let syntax = &self.checked.syntax;
        matches!(syntax.kind(comprehension.range), Kind::List { elements, .. } if elements.is_empty())
            && syntax.kind(comprehension.condition) == Kind::Literal(Literal::Bool(false))
            && syntax.name(comprehension.accumulator) != "__result__"
    }

    fn cost_bind(&mut self, expr: Expr, comprehension: &Comprehension) -> Range {
        let mut sum = self.cost(comprehension.range).plus(self.cost(comprehension.init));
        let outer = self.locals.len();
        self.push_bound(comprehension.accumulator, comprehension.init);
        sum = sum.plus(self.cost(comprehension.result));
        self.locals.truncate(outer);
        self.copy_sizes(expr, comprehension.result);
        sum
    }

    fn cost_call(&mut self, expr: Expr, function: Name, target: Option<Expr>, args: Span) -> Range {
        let checked = self.checked;
        let args = checked.syntax.exprs(args);
        let function = checked.syntax.name(function);
        if let ("dyn", [arg]) = (function, args) {
            let cost = self.cost(*arg).plus(Range::fixed(1));
            self.copy_sizes(expr, *arg);
            return cost;
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(*arg));
            arguments.push(self.argument(*arg));
        }
        let overloads = checked.overloads(expr);
        if overloads.is_empty() {
            return Range::fixed(0);
        }
        let mut sum = Range::fixed(0);
        let target = target.map(|target| {
            sum = self.cost(target);
            self.argument(target)
        });
        let call = functions::Call { expr, function, target, args: &arguments, costs: &costs };
        let mut cost = Range::none(false);
        let mut size: Option<Range> = None;
        for overload in overloads {
            let estimate = self.cost_overload(&call, *overload);
            cost = cost.union(estimate.cost);
            size = match (size, estimate.size) {
                (Some(size), Some(other)) => Some(size.union(other)),
                (size, other) => size.or(other),
            };
            let segment = match overload {
                Overload::IndexList => Some(Segment::Items),
                Overload::IndexMap => Some(Segment::Values),
                _ => None,
            };
            if let (Some(segment), [container, ..]) = (segment, args) {
                size = self.entries(*container).map(|entries| entries.value);
                let path = self.path(*container);
                self.paths[expr.index()] = self.step(path, segment);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        if size.is_some() {
            self.sizes_by_node[expr.index()] = size;
        }
        sum.plus(cost)
    }

    fn argument(&mut self, expr: Expr) -> Argument {
        Argument {
            expr: Some(expr),
            path: self.path(expr),
            ty: self.checked.type_of(expr),
            size: self.size(expr),
        }
    }
}
