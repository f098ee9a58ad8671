//! Numbers and structures of types, which the static tables and the type tables share.

/// Index of a type in a [`Types`](super::Types) table. Valid for that table and the layers above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type(pub(crate) u32);

/// Index of the name of a struct or opaque type in a [`Types`](super::Types) table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeName(pub(crate) u32);

/// Structure of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A type that is only determined at run time.
    Dyn,
    /// `google.protobuf.Any`.
    Any,
    /// `bool`.
    Bool,
    /// `bytes`.
    Bytes,
    /// `double`.
    Double,
    /// `google.protobuf.Duration`.
    Duration,
    /// The type of an expression that failed to check.
    Error,
    /// `int`.
    Int,
    /// `null_type`.
    Null,
    /// `string`.
    String,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// A type as a value, with that type if it is known.
    Type(Option<Type>),
    /// `uint`.
    Uint,
    /// No type: for fields that upstream accepts without a type.
    Unspecified,
    /// A primitive that may be null.
    Wrapper(Type),
    /// A list of elements.
    List(Type),
    /// A map of keys to values.
    Map(Type, Type),
    /// An object with declared fields.
    Struct(TypeName),
    /// A type without accessible fields, optionally with a parameter: `optional_type(int)`, `net.IP`.
    Opaque(TypeName, Option<Type>),
    /// A type variable: letters of signatures are 0 to 25; the checker's own variables follow.
    Param(u32),
}

/// A type with precomputed properties.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Structure of the type.
    pub shape: Shape,
    /// True if the type contains type variables.
    pub(crate) open: bool,
    /// Number of types in its text, including itself.
    pub(crate) size: u32,
}

impl Type {
    /// See [`Shape::Dyn`].
    pub const DYN: Self = Self(0);
    /// See [`Shape::Any`].
    pub const ANY: Self = Self(1);
    /// See [`Shape::Bool`].
    pub const BOOL: Self = Self(2);
    /// See [`Shape::Bytes`].
    pub const BYTES: Self = Self(3);
    /// See [`Shape::Double`].
    pub const DOUBLE: Self = Self(4);
    /// See [`Shape::Duration`].
    pub const DURATION: Self = Self(5);
    /// See [`Shape::Error`].
    pub const ERROR: Self = Self(6);
    /// See [`Shape::Int`].
    pub const INT: Self = Self(7);
    /// See [`Shape::Null`].
    pub const NULL: Self = Self(8);
    /// See [`Shape::String`].
    pub const STRING: Self = Self(9);
    /// See [`Shape::Timestamp`].
    pub const TIMESTAMP: Self = Self(10);
    /// A type as a value, of any type.
    pub const TYPE: Self = Self(11);
    /// See [`Shape::Uint`].
    pub const UINT: Self = Self(12);
    /// See [`Shape::Unspecified`].
    pub const UNSPECIFIED: Self = Self(13);
}
