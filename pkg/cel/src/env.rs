//! Environment of an expression: libraries, variables and declared types.
//!
//! An [`Environment`] is a library mask, a few variables and a [`Provider`], so it is cheap to create.
//! Functions and Kubernetes' own types are static tables.

mod well_known;

use std::collections::HashMap;
use std::sync::Arc;

use crate::overloads::{Libraries, OBJECTS, Object, TYPE_IDENTS};
use crate::types::{Shape, Type, Types};

/// Provider of types beyond the static ones.
pub trait Provider: Send + Sync {
    /// Returns the type with this qualified name; `None` if it is unknown.
    fn find_type(&self, types: &mut Types, name: &str) -> Option<Type>;

    /// Returns the type of a field of the named object type; `None` if there is no such field.
    fn find_field(&self, types: &mut Types, object: &str, field: &str) -> Option<Type>;

    /// Returns the number of the enum constant of this name.
    fn find_constant(&self, _name: &str) -> Option<i64> {
        None
    }
}

/// Environment for type checking.
#[derive(Clone)]
pub struct Environment {
    /// Enabled functions and static types.
    pub libraries: Libraries,
    /// Namespace in which names are resolved first; Kubernetes has none.
    pub container: Box<str>,
    /// True if mixed element types are errors of the type checker itself. Kubernetes leaves that to a
    /// validator.
    pub homogeneous: bool,
    /// Literal checks that run after type checking; see [`Validators`].
    pub validators: Validators,
    types: Arc<Types>,
    variables: HashMap<Box<str>, Type>,
    provider: Option<Arc<dyn Provider>>,
}

/// Checks of literals beyond their types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Elements of a list literal, keys and values of a map literal have one type.
    pub homogeneous: bool,
    /// Durations, timestamps and patterns that are literals are valid.
    pub literals: bool,
    /// The clauses of a literal format string match its arguments.
    pub format: bool,
}

impl Environment {
    /// Returns the base environment of release 1.`minor`.
    pub fn of_release(minor: u32) -> Self {
        Self {
            libraries: Libraries::of_release(minor).with(Libraries::SCALAR_NAMES),
            container: "".into(),
            homogeneous: false,
            validators: Validators { homogeneous: true, literals: minor >= 29, format: minor >= 29 },
            types: Arc::new(Types::new()),
            variables: HashMap::new(),
            provider: None,
        }
    }

    /// Adds libraries.
    pub fn with(mut self, libraries: Libraries) -> Self {
        self.libraries = self.libraries.with(libraries);
        self
    }

    /// Declares a variable. Its type must be in [`Environment::types`].
    pub fn variable(mut self, name: &str, ty: Type) -> Self {
        self.variables.insert(name.into(), ty);
        self
    }

    /// Replaces the declared types and their provider. The types of variables must be from this table.
    pub fn declare(mut self, types: Arc<Types>, provider: Arc<dyn Provider>) -> Self {
        self.types = types;
        self.provider = Some(provider);
        self
    }

    /// Returns the declared types.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    pub(crate) fn find_variable(&self, name: &str) -> Option<Type> {
        self.variables.get(name).copied()
    }

    /// Returns the type that an identifier names.
    pub(crate) fn find_type(&self, types: &mut Types, name: &str) -> Option<Type> {
        if let Ok(place) = TYPE_IDENTS.binary_search_by(|(ident, _)| (*ident).cmp(name)) {
            return Some(TYPE_IDENTS[place].1);
        }
        let ty = self.find_object(types, name)?;
        Some(types.of_type(ty))
    }

    /// Returns the type of this name, static or from the provider.
    pub(crate) fn find_object(&self, types: &mut Types, name: &str) -> Option<Type> {
        if let Some(ty) = self.provider.as_ref().and_then(|provider| provider.find_type(types, name)) {
            return Some(ty);
        }
        if let Some(object) = self.static_object(name) {
            return Some(object.ty);
        }
        match name {
            "duration" if self.libraries.any_of(Libraries::SCALAR_NAMES) => Some(Type::DURATION),
            "timestamp" if self.libraries.any_of(Libraries::SCALAR_NAMES) => Some(Type::TIMESTAMP),
            "net.IP" if self.libraries.any_of(Libraries::IP) => opaque(types, name),
            "net.CIDR" if self.libraries.any_of(Libraries::CIDR) => opaque(types, name),
            "optional_type" if self.libraries.any_of(Libraries::OPTIONAL) => opaque(types, name),
            _ => well_known::find_type(types, name),
        }
    }

    fn static_object(&self, name: &str) -> Option<&'static Object> {
        OBJECTS.iter().find(|object| object.name == name && self.libraries.any_of(object.libraries))
    }

    pub(crate) fn find_field(&self, types: &mut Types, object: &str, field: &str) -> Option<Type> {
        if let Some(ty) =
            self.provider.as_ref().and_then(|provider| provider.find_field(types, object, field))
        {
            return Some(ty);
        }
        match self.static_object(object) {
            Some(object) => {
                let found = object.fields.iter().find(|(name, _)| *name == field).map(|(_, ty)| *ty);
                // Upstream accepts every field of a patch, but unknown fields have no type.
                found.or((object.name == "JSONPatch").then_some(Type::UNSPECIFIED))
            }
            None => well_known::find_field(types, object, field),
        }
    }

    pub(crate) fn find_constant(&self, name: &str) -> Option<i64> {
        if name == "google.protobuf.NullValue.NULL_VALUE" {
            return Some(0);
        }
        self.provider.as_ref()?.find_constant(name)
    }
}

fn opaque(types: &mut Types, name: &str) -> Option<Type> {
    let name = types.intern_name(name);
    Some(types.intern(Shape::Opaque(name, None)))
}
