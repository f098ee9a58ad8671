//! The functions of Kubernetes' CEL environments: one static table of overloads, each with the libraries that
//! contain it. The environment of a release is a library mask and needs no table of its own.

#[rustfmt::skip]
mod ids;
#[rustfmt::skip]
mod signatures;
#[rustfmt::skip]
mod types;

pub use ids::Overload;
pub(crate) use types::{OBJECTS, TYPE_IDENTS, TYPE_NAMES, TYPES};

use crate::types::shape::Type;

/// Generates the overload enum and the list of ids from one line per overload.
macro_rules! overloads {
    ($($variant:ident = $id:literal, $doc:literal;)*) => {
        /// An overload, with the id that cel-go uses in checked trees and costs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Overload {
            $(#[doc = $doc] $variant,)*
        }

        /// Ids in the order of [`Overload`].
        pub(super) static IDS: &[&str] = &[$($id,)*];
    };
}
pub(crate) use overloads;

/// A set of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Libraries(pub u32);

impl Libraries {
    /// cel-go's standard functions.
    pub const STANDARD: Self = Self(1);
    /// Comparisons of numbers of different types.
    pub const CROSS_TYPE: Self = Self(1 << 1);
    /// `url`, `isURL` and the parts of URLs.
    pub const URLS: Self = Self(1 << 2);
    /// `find` and `findAll`.
    pub const REGEX: Self = Self(1 << 3);
    /// Kubernetes' list functions.
    pub const LISTS: Self = Self(1 << 4);
    /// cel-go's string functions, version 0.
    pub const STRINGS_V0: Self = Self(1 << 5);
    /// Checks with the `authorizer` variable.
    pub const AUTHZ: Self = Self(1 << 6);
    /// Optional values and their syntax.
    pub const OPTIONAL: Self = Self(1 << 7);
    /// Kubernetes' resource quantities.
    pub const QUANTITY: Self = Self(1 << 8);
    /// cel-go's string functions, version 2.
    pub const STRINGS_V2: Self = Self(1 << 9);
    /// cel-go's set functions.
    pub const SETS: Self = Self(1 << 10);
    /// IP addresses.
    pub const IP: Self = Self(1 << 11);
    /// Networks.
    pub const CIDR: Self = Self(1 << 12);
    /// Named formats.
    pub const FORMAT: Self = Self(1 << 13);
    /// Selectors in authorization checks.
    pub const AUTHZ_SELECTORS: Self = Self(1 << 14);
    /// Comprehensions with two variables.
    pub const TWO_VARIABLES: Self = Self(1 << 15);
    /// Semantic versions.
    pub const SEMVER: Self = Self(1 << 16);
    /// cel-go's list functions, version 3.
    pub const LISTS_V3: Self = Self(1 << 17);
    /// JSON Patch key escaping.
    pub const JSON_PATCH: Self = Self(1 << 18);
    /// `cel.bind`.
    pub const BINDINGS: Self = Self(1 << 19);
    /// `includes`, of version 1 of Kubernetes' list functions.
    pub const INCLUDES: Self = Self(1 << 20);
    /// Types of admission variables.
    pub const ADMISSION: Self = Self(1 << 21);
    /// Types of the variables of webhook authorizer match conditions.
    pub const AUTHORIZATION: Self = Self(1 << 22);
    /// Types of authenticator variables.
    pub const AUTHENTICATION: Self = Self(1 << 23);
    /// Types of device selector variables.
    pub const DEVICES: Self = Self(1 << 24);
    /// `JSONPatch`, for mutations.
    pub const PATCHES: Self = Self(1 << 25);
    /// Functions by which upstream's tests distinguish environments. No real environment has them.
    pub const TESTS: Self = Self(1 << 27);
    /// `duration` and `timestamp` as type names, which every type provider resolves.
    pub const SCALAR_NAMES: Self = Self(1 << 26);

    /// Returns the libraries of every environment of release 1.`minor`, without those for single uses.
    pub fn of_release(minor: u32) -> Self {
        const SINCE: [(u32, Libraries); 15] = [
            (0, Libraries(0b1_1101 | Libraries::AUTHZ_SELECTORS.0)),
            (27, Libraries::AUTHZ),
            (28, Libraries::CROSS_TYPE),
            (28, Libraries::OPTIONAL),
            (28, Libraries::QUANTITY),
            (29, Libraries::STRINGS_V2),
            (29, Libraries::SETS),
            (30, Libraries::IP),
            (30, Libraries::CIDR),
            (31, Libraries::FORMAT),
            (32, Libraries::TWO_VARIABLES),
            (33, Libraries::SEMVER),
            (34, Libraries::LISTS_V3),
            (37, Libraries::INCLUDES),
            (0, Libraries::STRINGS_V0),
        ];
        let all = SINCE.iter().filter(|(since, _)| minor >= *since).fold(Self(0), |all, (_, l)| all.with(*l));
        if minor >= 29 { Self(all.0 & !Self::STRINGS_V0.0) } else { all }
    }

    /// Returns the union.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns true if the sets intersect.
    pub const fn any_of(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

/// Signature of one overload.
#[derive(Debug)]
pub struct Signature {
    /// Overload with this signature.
    pub overload: Overload,
    /// Types of the receiver (of a member function) and of the arguments.
    pub args: &'static [Type],
    /// Type of the result, which can contain type variables of the arguments.
    pub result: Type,
    /// True if it is called as a member of its first argument.
    pub member: bool,
    /// Libraries that contain it; any one suffices.
    pub libraries: Libraries,
}

/// An object type that Kubernetes declares, and its fields.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) fields: &'static [(&'static str, Type)],
    /// Libraries that contain it.
    pub(crate) libraries: Libraries,
}

impl Overload {
    /// Returns cel-go's id of the overload.
    pub fn id(self) -> &'static str {
        ids::IDS[self as usize]
    }
}

/// Returns the overloads of a function in cel-go's order; empty for an unknown function.
pub fn signatures(function: &str) -> &'static [Signature] {
    self::function(function).map_or(&[], |(_, signatures)| signatures)
}

/// Returns the function's name in the table and its overloads.
pub(crate) fn function(name: &str) -> Option<(&'static str, &'static [Signature])> {
    let place = signatures::FUNCTIONS.binary_search_by(|(function, _, _)| (*function).cmp(name)).ok()?;
    let (name, start, end) = signatures::FUNCTIONS[place];
    Some((name, &signatures::SIGNATURES[start as usize..end as usize]))
}
