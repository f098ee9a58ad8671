//! Errors of the decoder, with their paths.

use std::borrow::Cow;

use super::STRICT_ERRORS_MAX;
use super::decoder::Decoder;
use super::errors::{Error, StrictError, StrictKind, TypeError};
use super::path::{Step, bare_name, push_go_path, push_key};

impl Decoder<'_> {
    /// Records a value of the wrong type.
    #[cold]
    pub(super) fn mismatch(&mut self, value: impl Into<Cow<'static, str>>, go_type: Cow<'static, str>) {
        let error = self.type_error(value.into(), go_type);
        self.save(error);
    }

    /// Records an error if it is the first one.
    #[cold]
    pub(super) fn save(&mut self, error: Error) {
        self.saved.get_or_insert(error);
    }

    /// The error for a value of the wrong type at the current path.
    #[cold]
    pub(super) fn type_error(&self, value: Cow<'static, str>, go_type: Cow<'static, str>) -> Error {
        let mut field = String::new();
        for step in &self.path {
            if let Step::Field(message, name) = step {
                push_go_path(&mut field, message, name);
            }
        }
        let named_after = self.path.get(..self.nested_at.unwrap_or(self.path.len())).unwrap_or_default();
        let around = named_after.iter().rev().find_map(|step| match step {
            Step::Field(message, _) => Some(bare_name(message)),
            _ => None,
        });
        let struct_name = Cow::Borrowed(around.unwrap_or_default());
        Error::Type(Box::new(TypeError { value, struct_name, field, go_type }))
    }

    #[cold]
    /// Adds a strict error about a member of the value at the current path.
    pub(super) fn report(&mut self, kind: StrictKind, name: &str) {
        if self.nested_at.is_some() || self.strict.len() >= STRICT_ERRORS_MAX {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Field(_, name) => push_key(&mut path, name),
                Step::Key(key) => push_key(&mut path, key),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        push_key(&mut path, name);
        let error = StrictError { kind, path };
        if !self.strict.contains(&error) {
            self.strict.push(error);
        }
    }
}
