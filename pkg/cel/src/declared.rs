//! Declared data: the types of an expression's variables, and the maximum sizes of their values. Declarations
//! come from structural schemas ([`schema`]) or are built by hand.

pub mod schema;

use std::collections::HashMap;
use std::sync::Arc;

use crate::env::Provider;
use crate::escaping::is_reserved;
use crate::estimate::{DataPosition, Range, Segment, Sizes};
use crate::types::{Type, Types};

/// Maximum request size in bytes. It bounds sizes that have no other bound.
pub const REQUEST_BYTES_MAX: u64 = 3 * 1024 * 1024;

/// A type and the size bounds of its values.
#[derive(Clone, Debug)]
struct Declaration {
    ty: Type,
    /// Maximum number of code points, bytes or elements.
    max: u64,
    /// Minimum length in bytes of the JSON form.
    min_serialized: u64,
    key: Option<DataPosition>,
    element: Option<DataPosition>,
    /// Fields by their name in expressions.
    fields: HashMap<Box<str>, DataPosition>,
    /// True if a selection by name leads to a map's values.
    names_values: bool,
}

impl Declaration {
    fn new(ty: Type, max: u64, min_serialized: u64) -> Self {
        Self {
            ty,
            max,
            min_serialized,
            key: None,
            element: None,
            fields: HashMap::new(),
            names_values: false,
        }
    }
}

/// Builder of [`Declared`].
#[derive(Debug, Default)]
pub struct Builder {
    types: Types,
    declarations: Vec<Declaration>,
    objects: HashMap<Box<str>, DataPosition>,
}

/// A complete set of declarations.
#[derive(Debug)]
pub struct Declared {
    types: Arc<Types>,
    declarations: Vec<Declaration>,
    objects: HashMap<Box<str>, DataPosition>,
    /// True if fields named like a keyword need no escaping.
    keywords: bool,
}

impl Builder {
    /// Creates a builder without declarations.
    pub fn new() -> Self {
        Self { types: Types::new(), ..Self::default() }
    }

    /// Returns the type table, for types of [`Builder::simple`].
    pub fn types(&mut self) -> &mut Types {
        &mut self.types
    }

    fn add(&mut self, declaration: Declaration) -> DataPosition {
        self.declarations.push(declaration);
        DataPosition(self.declarations.len() as u32 - 1)
    }

    /// Declares a scalar with at most `max` code points or bytes and at least `min_serialized` bytes of JSON.
    pub fn simple(&mut self, ty: Type, max: u64, min_serialized: u64) -> DataPosition {
        self.add(Declaration::new(ty, max, min_serialized))
    }

    /// Declares a list of at most `max` elements.
    pub fn list(&mut self, element: DataPosition, max: u64) -> DataPosition {
        let element_type = self.get(element).ty;
        let ty = self.types.list(element_type);
        self.add(Declaration { element: Some(element), ..Declaration::new(ty, max, 2) })
    }

    /// Declares a map of at most `max` entries.
    pub fn map(&mut self, key: DataPosition, value: DataPosition, max: u64) -> DataPosition {
        let key_type = self.get(key).ty;
        let value_type = self.get(value).ty;
        let ty = self.types.map(key_type, value_type);
        self.add(Declaration { key: Some(key), element: Some(value), ..Declaration::new(ty, max, 2) })
    }

    /// Lets a selection by name (`attributes.a`) use the size bound of the map's values. Off by default:
    /// upstream does this only for device attributes.
    pub fn select_values(&mut self, map: DataPosition) {
        self.declarations[map.0 as usize].names_values = true;
    }

    /// Declares an object with these fields.
    pub fn object(
        &mut self,
        name: &str,
        fields: Vec<(String, DataPosition)>,
        min_serialized: u64,
    ) -> DataPosition {
        let ty = self.types.object(name);
        let fields = fields.into_iter().map(|(name, place)| (name.into(), place)).collect();
        let place = self.add(Declaration { fields, ..Declaration::new(ty, 0, min_serialized) });
        self.objects.insert(name.into(), place);
        place
    }

    fn get(&self, position: DataPosition) -> &Declaration {
        &self.declarations[position.0 as usize]
    }

    /// Returns the type of a declaration.
    pub fn type_of(&self, position: DataPosition) -> Type {
        self.get(position).ty
    }

    /// Returns the minimum length in bytes of the JSON form.
    pub fn min_serialized(&self, position: DataPosition) -> u64 {
        self.get(position).min_serialized
    }

    /// Finishes the declarations, for an environment of release 1.`minor`.
    pub fn finish(self, minor: u32) -> Declared {
        Declared {
            types: Arc::new(self.types),
            declarations: self.declarations,
            objects: self.objects,
            keywords: minor >= 31,
        }
    }
}

impl Declared {
    /// Returns the type table.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// Returns the type of a declaration.
    pub fn type_of(&self, position: DataPosition) -> Type {
        self.get(position).ty
    }

    /// Returns the minimum length in bytes of the JSON form.
    pub fn min_serialized(&self, position: DataPosition) -> u64 {
        self.get(position).min_serialized
    }

    fn get(&self, position: DataPosition) -> &Declaration {
        &self.declarations[position.0 as usize]
    }
}

impl Provider for Declared {
    fn find_type(&self, _: &mut Types, name: &str) -> Option<Type> {
        self.objects.get(name).map(|place| self.get(*place).ty)
    }

    fn find_field(&self, _: &mut Types, object: &str, field: &str) -> Option<Type> {
        let fields = &self.get(*self.objects.get(object)?).fields;
        let keyword = || (self.keywords && is_reserved(field)).then(|| format!("__{field}__"));
        let index = fields.get(field).or_else(|| fields.get(&*keyword()?))?;
        Some(self.get(*index).ty)
    }
}

/// Size estimates of declared data below one declaration.
pub struct DeclaredSizes<'a> {
    /// Declarations that contain the root.
    pub declared: &'a Declared,
    /// Declaration at the root of every path.
    pub root: DataPosition,
    /// Variable that paths must start with; `None` for any.
    pub variable: Option<&'a str>,
}

impl Sizes for DeclaredSizes<'_> {
    fn root(&mut self, first: Segment<'_>) -> Option<DataPosition> {
        self.variable.is_none_or(|variable| first == Segment::Name(variable)).then_some(self.root)
    }

    fn step(&mut self, position: DataPosition, segment: Segment<'_>) -> Option<DataPosition> {
        let declaration = self.declared.get(position);
        match segment {
            Segment::Items | Segment::Values => declaration.element,
            Segment::Keys => declaration.key,
            Segment::Indices => None,
            Segment::Name(_) if declaration.names_values => declaration.element,
            Segment::Name(name) => declaration.fields.get(name).copied(),
        }
    }

    fn size(&mut self, position: Option<DataPosition>, _: &Types, _: Type) -> Option<Range> {
        Some(Range { min: 0, max: self.declared.get(position?).max })
    }
}
