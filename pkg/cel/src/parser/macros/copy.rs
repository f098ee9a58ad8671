//! Tree copies, for macros that use their receiver twice.

use super::expansion::Expansion;
use crate::syntax::{Entry, Expr, Key, Kind, Span};

impl Expansion<'_, '_> {
    /// Copies a tree with new ids. Reports an error and stops at the node limit.
    pub(super) fn copy(&mut self, expr: Expr) -> Expr {
        if self.builder.is_full() {
            return expr;
        }
        let node = *self.builder.syntax.node(expr);
        let id = self.builder.id();
        let kind = self.copy_kind(node.kind);
        self.builder.syntax.add(id, node.offset, kind)
    }

    fn copy_kind(&mut self, kind: Kind) -> Kind {
        match kind {
            Kind::Literal(_) | Kind::Ident(_) => kind,
            Kind::Select { operand, field, test } => {
                Kind::Select { operand: self.copy(operand), field, test }
            }
            Kind::Call { function, target, args } => {
                let args = self.copy_exprs(args);
                Kind::Call { function, target: target.map(|target| self.copy(target)), args }
            }
            Kind::List { elements, optional } => Kind::List { elements: self.copy_exprs(elements), optional },
            Kind::Map(entries) => Kind::Map(self.copy_entries(entries)),
            Kind::Struct { name, fields } => Kind::Struct { name, fields: self.copy_entries(fields) },
            Kind::Comprehension(number) => {
                let mut copy = *self.builder.syntax.comprehension(number);
                for part in
                    [&mut copy.range, &mut copy.init, &mut copy.condition, &mut copy.step, &mut copy.result]
                {
                    *part = self.copy(*part);
                }
                self.builder.syntax.add_comprehension(copy)
            }
        }
    }

    fn copy_exprs(&mut self, span: Span) -> Span {
        let copies: Vec<Expr> = self.builder.syntax.exprs(span).to_vec();
        let copies: Vec<Expr> = copies.into_iter().map(|expr| self.copy(expr)).collect();
        self.builder.syntax.add_exprs(&copies)
    }

    fn copy_entries(&mut self, span: Span) -> Span {
        let mut entries: Vec<Entry> = self.builder.syntax.entries(span).to_vec();
        for entry in &mut entries {
            entry.id = self.builder.id();
            entry.offset = self.offset;
            if let Key::Expr(key) = entry.key {
                entry.key = Key::Expr(self.copy(key));
            }
            entry.value = self.copy(entry.value);
        }
        self.builder.syntax.add_entries(&entries)
    }
}
