//! Type checking of calls: name resolution and overload resolution.

use super::Checker;
use super::assign::is_dyn;
use crate::checked::Reference;
use crate::overloads::{Libraries, Signature, signatures};
use crate::syntax::{Expr, Kind, Name, Span};
use crate::types::{FIRST_VARIABLE, Shape, Type};

/// Fresh type variables of one call, by letter of the signature.
type FreshVariables = [Option<Type>; FIRST_VARIABLE as usize];

impl Checker<'_> {
    pub(super) fn check_call(
        &mut self,
        expr: Expr,
        function: Name,
        target: Option<Expr>,
        args: Span,
    ) -> Type {
        let name = self.syntax.name(function);
        if name == "_?._" {
            return self.check_optional_select(expr, target, args);
        }
        let name = name.to_owned();
        for place in 0..args.len() {
            let arg = self.syntax.exprs(args)[place];
            self.check(arg);
        }
        let Some(target) = target else {
            return match self.find_function(&name) {
                Some((resolved, signatures)) => {
                    let function = self.syntax.intern(&resolved);
                    self.syntax.replace(expr, Kind::Call { function, target: None, args });
                    self.resolve(expr, &resolved, signatures, None, args)
                }
                None => self.undeclared(expr, &name),
            };
        };
        if let Some(mut qualified) = self.qualified_name(target) {
            qualified.push('.');
            qualified.push_str(&name);
            let function = self.find_function(&qualified);
            self.qualified = qualified;
            if let Some((resolved, signatures)) = function {
                let function = self.syntax.intern(&resolved);
                self.syntax.replace(expr, Kind::Call { function, target: None, args });
                return self.resolve(expr, &resolved, signatures, None, args);
            }
        }
        self.check(target);
        match self.find_function(&name) {
            Some((resolved, signatures)) => self.resolve(expr, &resolved, signatures, Some(target), args),
            None => self.undeclared(expr, &name),
        }
    }

    /// Resolves a function name, from the container outwards unless it starts with a dot.
    fn find_function(&self, name: &str) -> Option<(String, &'static [Signature])> {
        let declared = |name: &str| {
            let signatures = signatures(name);
            let is_enabled = |signature: &Signature| self.env.libraries.any_of(signature.libraries);
            signatures.iter().any(is_enabled).then_some((name.to_owned(), signatures))
        };
        if let Some(absolute) = name.strip_prefix('.') {
            return declared(absolute);
        }
        let mut container = &*self.env.container;
        while !container.is_empty() {
            if let Some(function) = declared(&format!("{container}.{name}")) {
                return Some(function);
            }
            container = container.rfind('.').map_or("", |dot| &container[..dot]);
        }
        declared(name)
    }

    fn resolve(
        &mut self,
        expr: Expr,
        name: &str,
        signatures: &'static [Signature],
        target: Option<Expr>,
        args: Span,
    ) -> Type {
        let args = self.syntax.exprs(args);
        let mut arg_types: Vec<Type> = target.iter().chain(args).map(|arg| self.type_of(*arg)).collect();
        if let "_&&_" | "_||_" = name {
            return self.resolve_logical(expr, signatures, target, &arg_types);
        }
        let start = self.overloads.len() as u32;
        let mut result: Option<Type> = None;
        for signature in signatures {
            if !self.is_enabled(signature) || signature.member != target.is_some() {
                continue;
            }
            let mut fresh = [None; FIRST_VARIABLE as usize];
            let parameters: Vec<Type> =
                signature.args.iter().map(|ty| self.instantiate(&mut fresh, *ty)).collect();
            let gives = self.instantiate(&mut fresh, signature.result);
            if !self.bindings.all_assignable(&self.types, &arg_types, &parameters) {
                continue;
            }
            self.overloads.push(signature.overload);
            let gives = self.substitute(gives);
            result = Some(match result {
                None => gives,
                Some(before) if is_dyn(self.types.shape(before)) || before == gives => before,
                Some(_) => Type::DYN,
            });
        }
        let Some(result) = result else {
            for ty in &mut arg_types {
                *ty = self.bindings.substitute(&mut self.types, *ty, true);
            }
            return self.no_overload(expr, name, target.is_some(), &arg_types);
        };
        let len = self.overloads.len() as u32 - start;
        self.references[expr.index()] = Reference::Overloads { start, len };
        result
    }

    /// `&&` and `||` report each non-boolean operand separately.
    fn resolve_logical(
        &mut self,
        expr: Expr,
        signatures: &[Signature],
        target: Option<Expr>,
        arg_types: &[Type],
    ) -> Type {
        let Some(signature) = signatures.first().filter(|_| target.is_none()) else {
            return self.no_overload(expr, "_&&_", true, arg_types);
        };
        let Kind::Call { args, .. } = self.syntax.kind(expr) else { return Type::ERROR };
        let mut result = Type::BOOL;
        for (place, ty) in arg_types.iter().enumerate() {
            if !self.assignable(*ty, Type::BOOL) {
                let arg = self.syntax.exprs(args)[place];
                self.mismatch(arg, Type::BOOL, *ty);
                result = Type::ERROR;
            }
        }
        let start = self.overloads.len() as u32;
        self.overloads.push(signature.overload);
        self.references[expr.index()] = Reference::Overloads { start, len: 1 };
        result
    }

    fn is_enabled(&self, signature: &Signature) -> bool {
        self.env.libraries.any_of(signature.libraries)
            || (self.entered && signature.libraries == Libraries::CROSS_TYPE)
    }

    /// Replaces a signature's type variables with those of this call.
    fn instantiate(&mut self, fresh: &mut FreshVariables, ty: Type) -> Type {
        if !self.types.info(ty).open {
            return ty;
        }
        match self.types.shape(ty) {
            Shape::Param(letter) => {
                if let Some(variable) = fresh[letter as usize] {
                    return variable;
                }
                let variable = self.new_variable();
                fresh[letter as usize] = Some(variable);
                variable
            }
            Shape::List(a) => {
                let a = self.instantiate(fresh, a);
                self.types.list(a)
            }
            Shape::Map(a, b) => {
                let a = self.instantiate(fresh, a);
                let b = self.instantiate(fresh, b);
                self.types.map(a, b)
            }
            Shape::Opaque(name, Some(a)) => {
                let a = self.instantiate(fresh, a);
                self.types.intern(Shape::Opaque(name, Some(a)))
            }
            Shape::Type(Some(a)) => {
                let a = self.instantiate(fresh, a);
                self.types.of_type(a)
            }
            _ => ty,
        }
    }

    fn no_overload(&mut self, expr: Expr, name: &str, member: bool, arg_types: &[Type]) -> Type {
        let texts: Vec<String> = arg_types.iter().map(|ty| self.types.text(*ty)).collect();
        let applied = match texts.split_first() {
            Some((target, args)) if member => format!("{target}.({})", args.join(", ")),
            _ => format!("({})", texts.join(", ")),
        };
        let message = format!("found no matching overload for '{name}' applied to '{applied}'");
        self.report_at(expr, message);
        Type::ERROR
    }
}
