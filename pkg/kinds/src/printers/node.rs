//! Rows of runtime classes.

use super::column::AGE;
use super::column::Column;
use super::column::NAME;
use super::column::text;

pub(super) static RUNTIME_CLASS: &[Column] =
    &[NAME, text("Handler", |object, _| object.get("handler").into()), AGE];
