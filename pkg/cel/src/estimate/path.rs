//! Path of a value in the declared data, and its size bound.

use super::{Argument, Entries, Estimator, Local, Range};
use crate::checked::Checked;
use crate::syntax::{Expr, Kind, Literal, Name};
use crate::types::{Shape, Type, Types};

/// A step into declared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// A variable, or a field of an object.
    Name(&'a str),
    /// A list's elements.
    Items,
    /// A list's indices.
    Indices,
    /// A map's keys.
    Keys,
    /// A map's values.
    Values,
}

/// A position in declared data, numbered by the [`Sizes`] implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPosition(pub u32);

/// Source of size bounds for declared data.
pub trait Sizes {
    /// Returns the place of the first segment. In cel-go a path can start with a segment that was never
    /// declared.
    fn root(&mut self, first: Segment<'_>) -> Option<DataPosition>;

    /// Returns the place behind one more segment.
    fn step(&mut self, position: DataPosition, segment: Segment<'_>) -> Option<DataPosition>;

    /// Returns the size bound of a place with this type; `None` if unknown. `position` is `None` for a value
    /// without a path.
    fn size(&mut self, position: Option<DataPosition>, types: &Types, ty: Type) -> Option<Range>;
}

/// [`Sizes`] for undeclared data.
pub struct NoSizes;

impl Sizes for NoSizes {
    fn root(&mut self, _: Segment<'_>) -> Option<DataPosition> {
        None
    }

    fn step(&mut self, _: DataPosition, _: Segment<'_>) -> Option<DataPosition> {
        None
    }

    fn size(&mut self, _: Option<DataPosition>, _: &Types, _: Type) -> Option<Range> {
        None
    }
}

/// A path, resolved as far as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// No steps.
    Empty,
    /// The path leaves the declared data.
    Undeclared,
    /// The path leads to a place.
    Position(DataPosition),
}

impl Estimator<'_> {
    pub(super) fn local(&self, name: Name) -> Option<Local> {
        self.locals.iter().rev().find(|local| local.name == name).copied()
    }

    fn local_of(&self, expr: Expr) -> Option<Local> {
        match self.checked.syntax.kind(expr) {
            Kind::Ident(name) => self.local(name),
            _ => None,
        }
    }

    pub(super) fn path(&self, expr: Expr) -> Path {
        self.local_of(expr).map_or(self.paths[expr.index()], |local| local.path)
    }

    pub(super) fn step(&mut self, path: Path, segment: Segment<'_>) -> Path {
        let place = match path {
            Path::Empty => self.sizes.root(segment),
            Path::Undeclared => None,
            Path::Position(place) => self.sizes.step(place, segment),
        };
        place.map_or(Path::Undeclared, Path::Position)
    }

    /// Returns the declared size bound of a value.
    pub(super) fn declared_size(&mut self, path: Path, ty: Type) -> Option<Range> {
        let place = match path {
            Path::Position(place) => Some(place),
            Path::Empty | Path::Undeclared => None,
        };
        self.sizes.size(place, &self.checked.types, ty)
    }

    pub(super) fn size(&mut self, expr: Expr) -> Option<Range> {
        if let Some(size) = self.sizes_by_node[expr.index()].or_else(|| literal_size(self.checked, expr)) {
            return Some(size);
        }
        let ty = self.checked.type_of(expr);
        if let Some(size) = self.declared_size(self.path(expr), ty) {
            self.sizes_by_node[expr.index()] = Some(size);
            return Some(size);
        }
        if is_scalar(&self.checked.types, ty) {
            return Some(Range::fixed(1));
        }
        self.local_of(expr).and_then(|local| local.size)
    }

    pub(super) fn size_or_unknown(&mut self, expr: Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    pub(super) fn set_size(&mut self, expr: Expr, size: impl FnOnce(&mut Self) -> Option<Range>) {
        if let Some(size) = size(self) {
            self.sizes_by_node[expr.index()] = Some(size);
        }
    }

    pub(super) fn entries(&self, expr: Expr) -> Option<Entries> {
        self.entries[expr.index()].or_else(|| self.local_of(expr).and_then(|local| local.entries))
    }

    pub(super) fn copy_sizes(&mut self, to: Expr, from: Expr) {
        self.set_size(to, |this| this.size(from));
        if let Some(entries) = self.entries(from) {
            self.entries[to.index()] = Some(entries);
        }
    }

    pub(super) fn shape(&self, expr: Expr) -> Shape {
        self.checked.types.shape(self.checked.type_of(expr))
    }

    pub(super) fn is_list(&self, range: Expr) -> bool {
        self.entries(range)
            .map_or_else(|| matches!(self.shape(range), Shape::List(_)), |entries| entries.is_list)
    }

    pub(super) fn push_key(&mut self, name: Name, range: Expr) {
        let segment = if self.is_list(range) { Segment::Indices } else { Segment::Keys };
        let size = self.entries(range).map(|entries| entries.key);
        let path = self.step(self.path(range), segment);
        self.locals.push(Local { name, path, size, entries: None });
    }

    pub(super) fn push_value(&mut self, name: Name, range: Expr) {
        let segment = if self.is_list(range) { Segment::Items } else { Segment::Values };
        let size = self.entries(range).map(|entries| entries.value);
        let path = self.step(self.path(range), segment);
        self.locals.push(Local { name, path, size, entries: None });
    }

    pub(super) fn push_bound(&mut self, name: Name, value: Expr) {
        let path = self.path(value);
        let entries = self.entries(value);
        let size = self.size(value);
        self.locals.push(Local { name, path, size, entries });
    }

    /// Returns the size of an argument, unbounded if unknown.
    pub(super) fn size_of(&mut self, argument: &Argument) -> Range {
        argument.size.or_else(|| self.declared_size(argument.path, argument.ty)).unwrap_or(Range::UNKNOWN)
    }

    /// Returns the elements of a list; `None` if the argument's type has no parameter.
    pub(super) fn elements_of(&mut self, list: &Argument) -> Option<Argument> {
        let ty = match self.checked.types.shape(list.ty) {
            Shape::List(of) | Shape::Map(of, _) | Shape::Opaque(_, Some(of)) | Shape::Type(Some(of)) => of,
            _ => return None,
        };
        let path = match list.path {
            Path::Empty => Path::Empty,
            path => self.step(path, Segment::Items),
        };
        Some(Argument { expr: None, path, ty, size: None })
    }
}

/// Returns the size of a literal in code points, bytes or elements; 1 for other literals.
fn literal_size(checked: &Checked, expr: Expr) -> Option<Range> {
    let syntax = &checked.syntax;
    let size = match syntax.kind(expr) {
        Kind::Literal(Literal::String(text)) => syntax.name(text).chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List { elements, .. } => elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(Range::fixed(size as u64))
}

/// Returns true if all values of a type have the same size.
fn is_scalar(types: &Types, ty: Type) -> bool {
    match types.shape(ty) {
        Shape::Bool | Shape::Double | Shape::Duration | Shape::Int | Shape::Timestamp | Shape::Uint => true,
        Shape::Wrapper(of) => is_scalar(types, of),
        _ => types.unwrap_optional(ty).is_some_and(|of| is_scalar(types, of)),
    }
}
