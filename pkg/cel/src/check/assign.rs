//! Type assignability, by unification of type variables.

use crate::types::{Shape, Type, Types};

/// Maximum nesting of types; beyond it unification and the check fail.
const DEPTH_MAX: u32 = 300;

/// Bindings of type variables.
pub(super) struct Bindings {
    /// Bindings by variable number.
    bound: Vec<Option<Type>>,
    /// Bindings overwritten by the current attempt, for rollback.
    trail: Vec<(u32, Option<Type>)>,
    /// Remaining steps; at zero every operation fails.
    pub(super) steps: u32,
}

impl Bindings {
    pub(super) fn new(steps: u32) -> Self {
        Self { bound: Vec::new(), trail: Vec::new(), steps }
    }

    /// Returns true if `from` is assignable to `to`. Binds variables in that case only.
    pub(super) fn assignable(&mut self, types: &Types, from: Type, to: Type) -> bool {
        self.all_assignable(types, &[from], &[to])
    }

    /// [`Bindings::assignable`] for lists of equal length, as one attempt.
    pub(super) fn all_assignable(&mut self, types: &Types, from: &[Type], to: &[Type]) -> bool {
        self.trail.clear();
        if from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.unify(types, *from, *to, 0)) {
            return true;
        }
        while let Some((number, before)) = self.trail.pop() {
            self.bound[number as usize] = before;
        }
        false
    }

    fn find(&self, number: u32) -> Option<Type> {
        self.bound.get(number as usize).copied().flatten()
    }

    fn bind(&mut self, number: u32, ty: Type) {
        let place = number as usize;
        if self.bound.len() <= place {
            self.bound.resize(place + 1, None);
        }
        self.trail.push((number, self.bound[place]));
        self.bound[place] = Some(ty);
    }

    /// Consumes a step. Returns false if no step is left or the types are nested too deeply.
    fn step(&mut self, depth: u32) -> bool {
        self.steps = if depth > DEPTH_MAX { 0 } else { self.steps.saturating_sub(1) };
        self.steps > 0
    }

    fn unify(&mut self, types: &Types, a: Type, b: Type, depth: u32) -> bool {
        if !self.step(depth) {
            return false;
        }
        let shape_a = types.shape(a);
        let shape_b = types.shape(b);
        if let Shape::Param(number) = shape_b {
            match self.accepts(types, a, b, number, depth) {
                (true, _) => return true,
                (false, true) => return false,
                // `a` may still be a variable that accepts `b`.
                (false, false) => {}
            }
        }
        if let Shape::Param(number) = shape_a {
            return self.accepts(types, b, a, number, depth).0;
        }
        if is_dyn_or_error(shape_a) || is_dyn_or_error(shape_b) {
            return true;
        }
        match (shape_a, shape_b) {
            (Shape::Null, other) | (other, Shape::Null) => is_nullable(other),
            (Shape::Type(_), Shape::Type(_)) => true,
            (Shape::List(a), Shape::List(b)) => self.unify(types, a, b, depth + 1),
            (Shape::Map(key_a, a), Shape::Map(key_b, b)) => {
                self.unify(types, key_a, key_b, depth + 1) && self.unify(types, a, b, depth + 1)
            }
            (Shape::Opaque(name_a, a), Shape::Opaque(name_b, b)) => {
                name_a == name_b
                    && match (a, b) {
                        (Some(a), Some(b)) => self.unify(types, a, b, depth + 1),
                        (a, b) => a == b,
                    }
            }
            _ => is_same_type(types, a, b),
        }
    }

    /// Returns two flags: variable `var` with this number accepts `ty`, and it is bound already.
    fn accepts(&mut self, types: &Types, ty: Type, var: Type, number: u32, depth: u32) -> (bool, bool) {
        if ty == var {
            return (true, true);
        }
        let Some(bound) = self.find(number) else {
            let free = !self.occurs(types, var, ty, 0);
            if free {
                self.bind(number, ty);
            }
            return (free, false);
        };
        if is_same_type(types, ty, bound) {
            return (true, true);
        }
        if !self.unify(types, ty, bound, depth + 1) {
            return (false, true);
        }
        let general = most_general(types, ty, bound);
        if !self.occurs(types, var, general, 0) {
            self.bind(number, general);
        }
        (true, true)
    }

    /// Returns true if a variable occurs in a type, directly or through bindings.
    fn occurs(&mut self, types: &Types, var: Type, within: Type, depth: u32) -> bool {
        if var == within {
            return true;
        }
        if !types.info(within).open {
            return false;
        }
        if !self.step(depth) {
            return true;
        }
        match types.shape(within) {
            Shape::Param(number) => {
                self.find(number).is_some_and(|bound| self.occurs(types, var, bound, depth + 1))
            }
            Shape::List(a) | Shape::Opaque(_, Some(a)) | Shape::Type(Some(a)) => {
                self.occurs(types, var, a, depth + 1)
            }
            Shape::Map(a, b) => {
                self.occurs(types, var, a, depth + 1) || self.occurs(types, var, b, depth + 1)
            }
            _ => false,
        }
    }

    /// Replaces variables with their bindings; with `close`, unbound ones with `dyn`.
    pub(super) fn substitute(&mut self, types: &mut Types, ty: Type, close: bool) -> Type {
        self.replace(types, ty, close, 0)
    }

    fn replace(&mut self, types: &mut Types, ty: Type, close: bool, depth: u32) -> Type {
        if !types.info(ty).open {
            return ty;
        }
        if !self.step(depth) {
            return Type::ERROR;
        }
        match types.shape(ty) {
            Shape::Param(number) => match self.find(number) {
                Some(bound) => self.replace(types, bound, close, depth + 1),
                None if close => Type::DYN,
                None => ty,
            },
            Shape::List(a) => {
                let a = self.replace(types, a, close, depth + 1);
                types.list(a)
            }
            Shape::Map(a, b) => {
                let a = self.replace(types, a, close, depth + 1);
                let b = self.replace(types, b, close, depth + 1);
                types.map(a, b)
            }
            Shape::Opaque(name, Some(a)) => {
                let a = self.replace(types, a, close, depth + 1);
                types.intern(Shape::Opaque(name, Some(a)))
            }
            Shape::Type(Some(a)) => {
                let a = self.replace(types, a, close, depth + 1);
                types.of_type(a)
            }
            _ => ty,
        }
    }
}

/// Returns true if two types are equal, ignoring nullability of primitives.
pub(crate) fn is_same_type(types: &Types, a: Type, b: Type) -> bool {
    let plain = |ty| match types.shape(ty) {
        Shape::Wrapper(of) => of,
        _ => ty,
    };
    a == b || plain(a) == plain(b)
}

pub(super) fn is_dyn(shape: Shape) -> bool {
    matches!(shape, Shape::Dyn | Shape::Any)
}

pub(super) fn is_dyn_or_error(shape: Shape) -> bool {
    matches!(shape, Shape::Dyn | Shape::Any | Shape::Error)
}

fn is_nullable(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::Null
            | Shape::Wrapper(_)
            | Shape::Opaque(..)
            | Shape::Struct(_)
            | Shape::Duration
            | Shape::Timestamp
    )
}

/// Returns the more general of two unified types.
pub(super) fn most_general(types: &Types, a: Type, b: Type) -> Type {
    if is_as_general(types, a, b) { a } else { b }
}

fn is_as_general(types: &Types, a: Type, b: Type) -> bool {
    let shape_a = types.shape(a);
    let shape_b = types.shape(b);
    if is_dyn(shape_a) || matches!(shape_a, Shape::Param(_)) {
        return true;
    }
    if is_dyn(shape_b) || matches!(shape_b, Shape::Param(_)) {
        return false;
    }
    match (shape_a, shape_b) {
        (Shape::List(a), Shape::List(b)) => is_as_general(types, a, b),
        (Shape::Map(key_a, a), Shape::Map(key_b, b)) => {
            is_as_general(types, key_a, key_b) && is_as_general(types, a, b)
        }
        (Shape::Opaque(name_a, Some(a)), Shape::Opaque(name_b, Some(b))) => {
            name_a == name_b && is_as_general(types, a, b)
        }
        (Shape::Type(_), Shape::Type(_)) => true,
        _ => is_same_type(types, a, b),
    }
}
