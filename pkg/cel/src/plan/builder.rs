//! Plan builder.

use super::{Fold, Node, NodeId, Plan, Root, Span, Step, Structure, StructureField};
use crate::arena::Abort;
use crate::checked::{Checked, Reference};
use crate::ext::ParseError;
use crate::syntax::{Expr, Key, Kind, Literal, Name};
use crate::value::{Constant, ConstantList, ConstantMap};

/// Planning error, in cel-go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A call that no overload of this function accepts.
    #[error("no such overload: {0}")]
    Overload(String),
    /// A key of this Go type.
    #[error("invalid qualifier type: {0}")]
    Qualifier(&'static str),
    /// A name that is neither a variable nor a type.
    #[error("no such attribute(s): {0}")]
    Attribute(String),
    /// A message of a type without a definition.
    #[error("unknown type")]
    Type,
    /// A regular expression that does not compile.
    #[error(transparent)]
    Pattern(#[from] ParseError),
    /// A conversion of a constant, with cel-go's text.
    #[error("{0}")]
    Conversion(String),
    /// The evaluation of a constant stopped.
    #[error("{0}")]
    Aborted(Abort),
    /// More variables than a plan can number.
    #[error("too many variables")]
    Variables,
    /// A syntax tree that no parser builds.
    #[error("{0}")]
    Syntax(&'static str),
}

pub(super) struct Builder<'c> {
    pub(super) checked: &'c Checked,
    pub(super) plan: Plan,
    /// Variables of the enclosing comprehensions, innermost last.
    scopes: Vec<(Name, Root)>,
}

pub(super) fn build(checked: &Checked, variables: &[&str]) -> Result<Plan, PlanError> {
    let plan = Plan {
        nodes: Vec::new(),
        children: Vec::new(),
        attributes: Vec::new(),
        calls: Vec::new(),
        folds: Vec::new(),
        structures: Vec::new(),
        constants: Vec::new(),
        sets: Vec::new(),
        optionals: Vec::new(),
        root: 0,
        slots: variables.len() as u16,
        traced: false,
        variables: variables.iter().map(|name| (*name).into()).collect(),
    };
    let mut builder = Builder { checked, plan, scopes: Vec::new() };
    let root = checked.syntax.root().ok_or(PlanError::Syntax("no expression"))?;
    let root = builder.node(root)?;
    let mut plan = builder.plan;
    plan.root = root;
    for place in 0..plan.attributes.len() {
        plan.attributes[place].result = super::value_id(&plan.attributes, place as u32);
    }
    for place in 0..plan.nodes.len() {
        if let Step::Attribute(attribute) = plan.nodes[place].step {
            plan.nodes[place].id = plan.attribute_id(attribute);
        }
    }
    plan.traced = super::loops::needs_trace(&plan);
    for attribute in &mut plan.attributes {
        attribute.qualifiers.shrink_to_fit();
    }
    plan.nodes.shrink_to_fit();
    plan.children.shrink_to_fit();
    plan.attributes.shrink_to_fit();
    plan.calls.shrink_to_fit();
    plan.constants.shrink_to_fit();
    Ok(plan)
}

impl Builder<'_> {
    pub(super) fn id(&self, expr: Expr) -> u32 {
        self.checked.syntax.node(expr).id as u32
    }

    /// Returns the id of a node's value, as planned so far.
    pub(super) fn node_id(&self, node: NodeId) -> u32 {
        match self.plan.nodes[node as usize].step {
            Step::Attribute(attribute) => super::value_id(&self.plan.attributes, attribute),
            _ => self.plan.nodes[node as usize].id,
        }
    }

    pub(super) fn add(&mut self, id: u32, step: Step) -> NodeId {
        self.plan.nodes.push(Node { id, step });
        self.plan.nodes.len() as u32 - 1
    }

    pub(super) fn constant(&mut self, constant: Constant) -> u32 {
        self.plan.constants.push(constant);
        self.plan.constants.len() as u32 - 1
    }

    pub(super) fn add_constant(&mut self, id: u32, constant: Constant) -> NodeId {
        let constant = self.constant(constant);
        self.add(id, Step::Constant(constant))
    }

    /// Returns the value of a constant node.
    pub(super) fn constant_of(&self, node: NodeId) -> Option<&Constant> {
        match self.plan.nodes[node as usize].step {
            Step::Constant(constant) => Some(&self.plan.constants[constant as usize]),
            _ => None,
        }
    }

    pub(super) fn span(&mut self, nodes: &[NodeId]) -> Span {
        let start = self.plan.children.len() as u32;
        self.plan.children.extend_from_slice(nodes);
        Span { start, len: nodes.len() as u32 }
    }

    pub(super) fn node(&mut self, expr: Expr) -> Result<NodeId, PlanError> {
        let syntax = &self.checked.syntax;
        let id = self.id(expr);
        match syntax.kind(expr) {
            Kind::Literal(literal) => Ok(self.add_constant(id, self.literal(literal))),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select { operand, field, test } => self.select(expr, operand, field, test),
            Kind::Call { function, target, args } => {
                let mut nodes = Vec::with_capacity(args.len() + 1);
                for arg in target.iter().chain(self.checked.syntax.exprs(args)) {
                    nodes.push(self.node(*arg)?);
                }
                self.call(expr, function, &nodes)
            }
            Kind::List { elements, optional } => {
                let elements = syntax.exprs(elements).to_vec();
                let optional = syntax.optional_indices(optional).to_vec();
                self.list(id, &elements, &optional)
            }
            Kind::Map(entries) => {
                let entries = syntax.entries(entries).to_vec();
                self.map(id, &entries)
            }
            Kind::Struct { fields, .. } => {
                let fields = syntax.entries(fields).to_vec();
                self.structure(expr, &fields)
            }
            Kind::Comprehension(number) => self.comprehension(id, number),
        }
    }

    fn literal(&self, literal: Literal) -> Constant {
        match literal {
            Literal::Null => Constant::Null,
            Literal::Bool(value) => Constant::Bool(value),
            Literal::Int(value) => Constant::Int(value),
            Literal::Uint(value) => Constant::Uint(value),
            Literal::Double(value) => Constant::Double(value),
            Literal::String(text) => Constant::String(self.checked.syntax.name(text).into()),
            Literal::Bytes(bytes) => Constant::Bytes(self.checked.syntax.bytes(bytes).into()),
        }
    }

    fn ident(&mut self, expr: Expr, name: Name) -> Result<NodeId, PlanError> {
        let id = self.id(expr);
        let text = self.checked.syntax.name(name);
        if let Reference::Type(name) = self.checked.reference(expr) {
            let name = Constant::Type(self.checked.syntax.name(name).into());
            return Ok(self.add_constant(id, name));
        }
        let scoped = self.scopes.iter().rev().find(|(scoped, _)| *scoped == name);
        let root = match scoped {
            Some((_, root)) => *root,
            None => {
                let text = text.strip_prefix('.').unwrap_or(text);
                let slot = self.plan.variables.iter().position(|variable| **variable == *text);
                Root::Slot(slot.ok_or_else(|| PlanError::Attribute(text.to_owned()))? as u16)
            }
        };
        let attribute = self.new_attribute(id, root);
        Ok(self.add(id, Step::Attribute(attribute)))
    }

    fn list(&mut self, id: u32, elements: &[Expr], optional: &[u32]) -> Result<NodeId, PlanError> {
        let mut nodes = Vec::with_capacity(elements.len());
        for element in elements {
            nodes.push(self.node(*element)?);
        }
        let constants: Option<Vec<_>> = nodes.iter().map(|node| self.constant_of(*node).cloned()).collect();
        if let Some(constants) = constants {
            let constant = match optional.first() {
                Some(place) => not_optional_element(&constants[*place as usize]),
                None => Constant::List(ConstantList(constants.into())),
            };
            return Ok(self.add_constant(id, constant));
        }
        let optional = (!optional.is_empty()).then(|| {
            let flags = (0..nodes.len()).map(|place| optional.contains(&(place as u32))).collect();
            self.plan.optionals.push(flags);
            self.plan.optionals.len() as u32 - 1
        });
        let elements = self.span(&nodes);
        Ok(self.add(id, Step::List { elements, optional }))
    }

    fn map(&mut self, id: u32, entries: &[crate::syntax::Entry]) -> Result<NodeId, PlanError> {
        let mut nodes = Vec::with_capacity(2 * entries.len());
        for entry in entries {
            let Key::Expr(key) = entry.key else { return Err(PlanError::Syntax("a map has no fields")) };
            nodes.push(self.node(key)?);
            nodes.push(self.node(entry.value)?);
        }
        let any_optional = entries.iter().any(|entry| entry.optional);
        let constants: Option<Vec<_>> = nodes.iter().map(|node| self.constant_of(*node).cloned()).collect();
        if let Some(constants) = constants.filter(|_| !any_optional) {
            let pairs = constants.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
            return Ok(self.add_constant(id, Constant::Map(Box::new(ConstantMap::new(pairs)))));
        }
        let optional = any_optional.then(|| {
            self.plan.optionals.push(entries.iter().map(|entry| entry.optional).collect());
            self.plan.optionals.len() as u32 - 1
        });
        let entries = self.span(&nodes);
        Ok(self.add(id, Step::Map { entries, optional }))
    }

    fn structure(&mut self, expr: Expr, entries: &[crate::syntax::Entry]) -> Result<NodeId, PlanError> {
        let syntax = &self.checked.syntax;
        let Reference::Type(name) = self.checked.reference(expr) else {
            return Err(PlanError::Type);
        };
        let type_name = syntax.name(name).into();
        let mut fields = Vec::with_capacity(entries.len());
        let mut values = Vec::with_capacity(entries.len());
        for entry in entries {
            let Key::Field(name) = entry.key else { return Err(PlanError::Syntax("an object has no keys")) };
            fields.push(StructureField { name: syntax.name(name).into(), optional: entry.optional });
            values.push(self.node(entry.value)?);
        }
        let values = self.span(&values);
        self.plan.structures.push(Structure { type_name, fields: fields.into(), values });
        let structure = self.plan.structures.len() as u32 - 1;
        let id = self.id(expr);
        Ok(self.add(id, Step::Struct(structure)))
    }

    fn comprehension(&mut self, id: u32, number: u32) -> Result<NodeId, PlanError> {
        let comprehension = *self.checked.syntax.comprehension(number);
        let init = self.node(comprehension.init)?;
        let range = self.node(comprehension.range)?;
        let number = self.plan.folds.len() as u32;
        let accumulator = self.slot()?;
        let variable = self.slot()?;
        let second = comprehension.second.map(|_| self.slot()).transpose()?;
        // Reserve the index before nested comprehensions get theirs.
        self.plan.folds.push(Fold {
            range,
            init,
            condition: 0,
            step: 0,
            result: 0,
            accumulator,
            variable,
            second,
            quantifier: None,
        });
        let depth = self.scopes.len();
        // cel-go searches the accumulator first.
        if let (Some(name), Some(slot)) = (comprehension.second, second) {
            self.scopes.push((name, Root::Slot(slot)));
        }
        self.scopes.push((comprehension.variable, Root::Slot(variable)));
        let accumulating = (comprehension.accumulator, Root::Accumulator { slot: accumulator, fold: number });
        self.scopes.push(accumulating);
        let condition = self.node(comprehension.condition)?;
        let step = self.node(comprehension.step)?;
        self.scopes.truncate(depth);
        self.scopes.push(accumulating);
        let result = self.node(comprehension.result)?;
        self.scopes.truncate(depth);
        let fold = &mut self.plan.folds[number as usize];
        (fold.condition, fold.step, fold.result) = (condition, step, result);
        self.plan.folds[number as usize].quantifier = super::loops::quantifier(&self.plan, number);
        Ok(self.add(id, Step::Fold(number)))
    }

    fn slot(&mut self) -> Result<u16, PlanError> {
        let slot = self.plan.slots;
        self.plan.slots = slot.checked_add(1).ok_or(PlanError::Variables)?;
        Ok(slot)
    }
}

/// Returns cel-go's error for `[?1]`.
fn not_optional_element(constant: &Constant) -> Constant {
    let value = crate::value::text(constant.value());
    Constant::Error(format!("cannot initialize optional list element from non-optional value {value}").into())
}
