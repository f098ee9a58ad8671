//! Type of a value in a schema.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Any,
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
    /// Any other name; no value has this type, and CRDs with it are rejected.
    Unsupported,
}

impl Kind {
    /// Returns the type's name in schemas.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Any | Kind::Unsupported => "",
            Kind::Array => "array",
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Object => "object",
            Kind::String => "string",
            Kind::IntOrString => "integer,string",
        }
    }

    /// True if integers have this type.
    pub(super) fn accepts_integers(self) -> bool {
        matches!(self, Kind::Integer | Kind::IntOrString)
    }
}
