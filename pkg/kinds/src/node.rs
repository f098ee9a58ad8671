//! The kinds of the API group `node`.

pub(crate) mod runtime_class;
