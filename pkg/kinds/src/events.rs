//! The kinds of the API group `events`.

pub(crate) mod columns;
pub(crate) mod event;
pub(crate) mod rules;
