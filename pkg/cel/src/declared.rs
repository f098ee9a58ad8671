//! Declared data: what an expression's variables look like, and how large their values can be. Declarations come
//! from structural schemas ([`schema`]) or are built by hand.

pub mod schema;

use std::collections::HashMap;
use std::sync::Arc;

use crate::env::Provider;
use crate::escaping::is_reserved;
use crate::estimate::{Place, Range, Segment, Sizes};
use crate::types::{Type, Types};

/// Largest request that a server takes; sizes that nothing else bounds are bounded by it.
pub const REQUEST_BYTES_MAX: u64 = 3 * 1024 * 1024;

/// A declaration: a type, and how large its values are.
#[derive(Clone, Debug)]
struct Declaration {
    ty: Type,
    /// Code points, bytes or elements at most.
    max: u64,
    /// Bytes of JSON at least.
    min_serialized: u64,
    key: Option<Place>,
    element: Option<Place>,
    /// By name as expressions write it.
    fields: HashMap<Box<str>, Place>,
    /// Whether a selection by name leads to a map's values.
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

/// Declarations under construction.
#[derive(Debug, Default)]
pub struct Builder {
    types: Types,
    declarations: Vec<Declaration>,
    objects: HashMap<Box<str>, Place>,
}

/// Declarations that are complete.
#[derive(Debug)]
pub struct Declared {
    types: Arc<Types>,
    declarations: Vec<Declaration>,
    objects: HashMap<Box<str>, Place>,
    /// Whether fields that have a keyword's name may be written as they are.
    keywords: bool,
}

impl Builder {
    /// Nothing declared yet.
    pub fn new() -> Self {
        Self { types: Types::new(), ..Self::default() }
    }

    /// The table of types, for types of [`Builder::simple`].
    pub fn types(&mut self) -> &mut Types {
        &mut self.types
    }

    fn add(&mut self, declaration: Declaration) -> Place {
        self.declarations.push(declaration);
        Place(self.declarations.len() as u32 - 1)
    }

    /// A value without parts, with at most `max` code points or bytes and at least so many bytes of JSON.
    pub fn simple(&mut self, ty: Type, max: u64, min_serialized: u64) -> Place {
        self.add(Declaration::new(ty, max, min_serialized))
    }

    /// A list of at most `max` elements.
    pub fn list(&mut self, element: Place, max: u64) -> Place {
        let element_type = self.get(element).ty;
        let ty = self.types.list(element_type);
        self.add(Declaration { element: Some(element), ..Declaration::new(ty, max, 2) })
    }

    /// A map of at most `max` entries.
    pub fn map(&mut self, key: Place, value: Place, max: u64) -> Place {
        let (key_type, value_type) = (self.get(key).ty, self.get(value).ty);
        let ty = self.types.map(key_type, value_type);
        self.add(Declaration { key: Some(key), element: Some(value), ..Declaration::new(ty, max, 2) })
    }

    /// Lets selections by name (`attributes.a`) find the size of a map's values. They do not as a rule: upstream
    /// does this for attributes of devices alone.
    pub fn select_values(&mut self, map: Place) {
        self.declarations[map.0 as usize].names_values = true;
    }

    /// An object with these fields.
    pub fn object(&mut self, name: &str, fields: Vec<(String, Place)>, min_serialized: u64) -> Place {
        let ty = self.types.object(name);
        let fields = fields.into_iter().map(|(name, place)| (name.into(), place)).collect();
        let place = self.add(Declaration { fields, ..Declaration::new(ty, 0, min_serialized) });
        self.objects.insert(name.into(), place);
        place
    }

    fn get(&self, place: Place) -> &Declaration {
        &self.declarations[place.0 as usize]
    }

    /// Type of a declaration.
    pub fn type_of(&self, place: Place) -> Type {
        self.get(place).ty
    }

    /// Bytes of JSON that a value has at least.
    pub fn min_serialized(&self, place: Place) -> u64 {
        self.get(place).min_serialized
    }

    /// The declarations, for an environment of release 1.`minor`.
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
    /// The types of the declarations.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// Type of a declaration.
    pub fn type_of(&self, place: Place) -> Type {
        self.get(place).ty
    }

    /// Bytes of JSON that a value has at least.
    pub fn min_serialized(&self, place: Place) -> u64 {
        self.get(place).min_serialized
    }

    fn get(&self, place: Place) -> &Declaration {
        &self.declarations[place.0 as usize]
    }
}

impl Provider for Declared {
    fn find_type(&self, _: &mut Types, name: &str) -> Option<Type> {
        self.objects.get(name).map(|place| self.get(*place).ty)
    }

    fn find_field(&self, _: &mut Types, object: &str, field: &str) -> Option<Type> {
        let fields = &self.get(*self.objects.get(object)?).fields;
        let keyword = || (self.keywords && is_reserved(field)).then(|| format!("__{field}__"));
        let found = fields.get(field).or_else(|| fields.get(&*keyword()?))?;
        Some(self.get(*found).ty)
    }
}

/// Sizes of declared data below one declaration.
pub struct DeclaredSizes<'a> {
    /// The declarations.
    pub declared: &'a Declared,
    /// What every path begins with.
    pub root: Place,
    /// The variable that paths must begin with; any, if none is given.
    pub variable: Option<&'a str>,
}

impl Sizes for DeclaredSizes<'_> {
    fn root(&mut self, first: Segment<'_>) -> Option<Place> {
        self.variable.is_none_or(|variable| first == Segment::Name(variable)).then_some(self.root)
    }

    fn step(&mut self, place: Place, segment: Segment<'_>) -> Option<Place> {
        let declaration = self.declared.get(place);
        match segment {
            Segment::Items | Segment::Values => declaration.element,
            Segment::Keys => declaration.key,
            Segment::Indices => None,
            Segment::Name(_) if declaration.names_values => declaration.element,
            Segment::Name(name) => declaration.fields.get(name).copied(),
        }
    }

    fn size(&mut self, place: Option<Place>, _: &Types, _: Type) -> Option<Range> {
        Some(Range { min: 0, max: self.declared.get(place?).max })
    }
}
