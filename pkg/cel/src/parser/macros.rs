//! Macros: calls that the parser replaces with other nodes.

mod copy;
mod expansion;

pub(super) use expansion::expand;

/// A set of macros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macros(u32);

/// Kind of a macro; the number of arguments distinguishes the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    Has,
    Quantifier(Quantifier),
    Map,
    Filter,
    OptMap,
    OptFlatMap,
    Bind,
    SortBy,
    TwoVariableQuantifier(Quantifier),
    TransformList,
    TransformMap,
    TransformMapEntry,
}

/// Quantifier of a predicate macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

/// A row of the table of macros.
struct Row {
    set: Macros,
    name: &'static str,
    args: usize,
    receiver: bool,
    is: Macro,
}

const fn row(set: Macros, name: &'static str, args: usize, receiver: bool, is: Macro) -> Row {
    Row { set, name, args, receiver, is }
}

const TABLE: [Row; 22] = {
    use Quantifier::{All, Exists, ExistsOne};
    let standard = Macros::STANDARD;
    let two = Macros::TWO_VARIABLE;
    [
        row(standard, "has", 1, false, Macro::Has),
        row(standard, "all", 2, true, Macro::Quantifier(All)),
        row(standard, "exists", 2, true, Macro::Quantifier(Exists)),
        row(standard, "exists_one", 2, true, Macro::Quantifier(ExistsOne)),
        row(Macros::EXISTS_ONE, "existsOne", 2, true, Macro::Quantifier(ExistsOne)),
        row(standard, "map", 2, true, Macro::Map),
        row(standard, "map", 3, true, Macro::Map),
        row(standard, "filter", 2, true, Macro::Filter),
        row(Macros::OPTIONAL, "optMap", 2, true, Macro::OptMap),
        row(Macros::OPTIONAL, "optFlatMap", 2, true, Macro::OptFlatMap),
        row(Macros::BIND, "bind", 3, true, Macro::Bind),
        row(Macros::SORT_BY, "sortBy", 2, true, Macro::SortBy),
        row(two, "all", 3, true, Macro::TwoVariableQuantifier(All)),
        row(two, "exists", 3, true, Macro::TwoVariableQuantifier(Exists)),
        row(two, "exists_one", 3, true, Macro::TwoVariableQuantifier(ExistsOne)),
        row(two, "existsOne", 3, true, Macro::TwoVariableQuantifier(ExistsOne)),
        row(two, "transformList", 3, true, Macro::TransformList),
        row(two, "transformList", 4, true, Macro::TransformList),
        row(two, "transformMap", 3, true, Macro::TransformMap),
        row(two, "transformMap", 4, true, Macro::TransformMap),
        row(two, "transformMapEntry", 3, true, Macro::TransformMapEntry),
        row(two, "transformMapEntry", 4, true, Macro::TransformMapEntry),
    ]
};

impl Macros {
    /// The empty set.
    pub const NONE: Macros = Macros(0);
    /// `has`, `all`, `exists`, `exists_one`, `map`, `filter`.
    pub const STANDARD: Macros = Macros(1);
    /// `existsOne` with one variable, which cel-go's parser supports but Kubernetes does not enable.
    pub const EXISTS_ONE: Macros = Macros(2);
    /// `optMap`, `optFlatMap`.
    pub const OPTIONAL: Macros = Macros(4);
    /// `cel.bind`.
    pub const BIND: Macros = Macros(8);
    /// `all`, `exists`, `existsOne`, `exists_one`, `transformList`, `transformMap` and `transformMapEntry` with two
    /// variables.
    pub const TWO_VARIABLE: Macros = Macros(16);
    /// `sortBy`.
    pub const SORT_BY: Macros = Macros(32);

    /// Returns the union.
    pub const fn with(self, other: Macros) -> Macros {
        Macros(self.0 | other.0)
    }

    /// Returns the enabled macro that matches a call.
    pub(super) fn find(self, name: &str, args: usize, receiver: bool) -> Option<Macro> {
        let mut rows = TABLE.iter().filter(|row| self.0 & row.set.0 != 0);
        rows.find(|row| row.name == name && row.args == args && row.receiver == receiver).map(|row| row.is)
    }
}
