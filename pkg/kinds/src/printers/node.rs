//! Rows of runtime classes.

use super::column::{AGE, Column, NAME, text};

pub(super) static RUNTIME_CLASS: &[Column] =
    &[NAME, text("Handler", |object, _| object.get("handler").into()), AGE];
