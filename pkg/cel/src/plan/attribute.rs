//! Planning of attributes: variables, fields and indices.

use super::builder::{Builder, PlanError};
use super::{Attribute, Key, NodeId, Qualifier, Root, Step};
use crate::syntax::{Expr, Name};
use crate::value::{Constant, go_type};

impl Builder<'_> {
    pub(super) fn new_attribute(&mut self, id: u32, root: Root) -> u32 {
        self.plan.attributes.push(Attribute { id, result: id, root, qualifiers: Vec::new() });
        self.plan.attributes.len() as u32 - 1
    }

    /// Returns the node's attribute, or wraps its value in a new one.
    pub(super) fn attribute_of(&mut self, node: NodeId) -> u32 {
        match self.plan.nodes[node as usize].step {
            // Inside another attribute `has()` is just its qualifiers.
            Step::Attribute(attribute) | Step::Presence(attribute) => attribute,
            _ => {
                let id = self.node_id(node);
                self.new_attribute(id, Root::Node(node))
            }
        }
    }

    fn qualify(&mut self, attribute: u32, qualifier: Qualifier) {
        match self.plan.attributes[attribute as usize].root {
            Root::Choice { truthy, falsy, .. } => {
                self.qualify(truthy, qualifier);
                self.qualify(falsy, qualifier);
            }
            _ => self.plan.attributes[attribute as usize].qualifiers.push(qualifier),
        }
    }

    pub(super) fn select(
        &mut self,
        expr: Expr,
        operand: Expr,
        field: Name,
        test: bool,
    ) -> Result<NodeId, PlanError> {
        let id = self.id(expr);
        let operand = self.node(operand)?;
        let attribute = self.attribute_of(operand);
        let key = Constant::String(self.checked.syntax.name(field).into());
        let key = Key::Constant(self.constant(key));
        self.qualify(attribute, Qualifier { id, key, optional: false, test });
        if test {
            // `has()` is a separate node with its own attribute.
            return Ok(self.add(id, Step::Presence(attribute)));
        }
        Ok(self.node_of(operand, attribute, id))
    }

    pub(super) fn index(&mut self, id: u32, args: &[NodeId], optional: bool) -> Result<NodeId, PlanError> {
        let &[operand, index] = args else { return Err(PlanError::Overload("_[_]".to_owned())) };
        let attribute = self.attribute_of(operand);
        let key = match self.plan.nodes[index as usize].step {
            Step::Constant(constant) => {
                let value = self.plan.constants[constant as usize].value();
                if !is_key(&self.plan.constants[constant as usize]) {
                    return Err(PlanError::Qualifier(go_type(value)));
                }
                Key::Constant(constant)
            }
            Step::Attribute(attribute) | Step::Presence(attribute) => Key::Attribute(attribute),
            _ => Key::Computed(self.new_attribute(id, Root::Node(index))),
        };
        self.qualify(attribute, Qualifier { id, key, optional, test: false });
        Ok(self.node_of(operand, attribute, id))
    }

    /// Returns the node of the attribute: the operand, if it is an attribute node already.
    fn node_of(&mut self, operand: NodeId, attribute: u32, id: u32) -> NodeId {
        match self.plan.nodes[operand as usize].step {
            Step::Attribute(_) => operand,
            _ => self.add(id, Step::Attribute(attribute)),
        }
    }

    pub(super) fn choice(&mut self, id: u32, args: &[NodeId]) -> Result<NodeId, PlanError> {
        let &[condition, truthy, falsy] = args else {
            return Err(PlanError::Overload("_?_:_".to_owned()));
        };
        let truthy = self.attribute_of(truthy);
        let falsy = self.attribute_of(falsy);
        let attribute = self.new_attribute(id, Root::Choice { condition, truthy, falsy });
        Ok(self.add(id, Step::Attribute(attribute)))
    }
}

/// Returns true if a constant can be a field or index.
fn is_key(constant: &Constant) -> bool {
    matches!(
        constant,
        Constant::String(_) | Constant::Int(_) | Constant::Uint(_) | Constant::Bool(_) | Constant::Double(_)
    )
}
