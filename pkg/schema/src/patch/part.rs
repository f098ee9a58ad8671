//! The members of an object that a patch reads or writes.
//!
//! The encoder, the patch and the decoder handle each member of a struct on its own. So a patch of only the
//! members that it names has the same result for them as a patch of the whole object. All other members stay
//! as they are: they need no text and no second decoding.
//!
//! Callers must patch the whole object if
//! - the patch of the part fails, because errors can quote the whole object, or
//! - the result has another `kind` or `apiVersion`, which changes the meaning of all members.
//!
//! One difference remains: managed fields that are not valid JSON prevent a patch of the whole object, but not of
//! a part. No server writes such managed fields.

use std::collections::BTreeMap;

use jsontree::Value;

use super::document::{Node, members, unescape};
use super::json_patch::JsonPatch;
use super::merge_patch::MergePatch;
use super::strategic;
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Number of levels on which members are separate: `spec.template.spec.containers` is on the last one.
const LEVELS_MAX: usize = 4;

/// Members of a struct that a patch reads or writes, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part(BTreeMap<&'static str, Extent>);

/// Extent to which a patch reads or writes a member.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Extent {
    Whole,
    /// The member is a struct, and only these members of it are read or written.
    Members(Part),
}

impl Part {
    /// Returns the part of a JSON patch; `None` for the whole object.
    pub fn of_json_patch(message: &'static Message, patch: &JsonPatch<'_>) -> Option<Self> {
        let mut part = Part::root(message)?;
        for pointer in patch.pointers() {
            let (_, path) = pointer.split_once('/')?;
            part.add_path(message, path);
        }
        Some(part)
    }

    /// Returns the part of a merge patch; `None` for the whole object.
    pub fn of_merge_patch(message: &'static Message, patch: &MergePatch<'_>) -> Option<Self> {
        let mut part = Part::root(message)?;
        part.add_merge_patch(message, object_text(patch.text())?, LEVELS_MAX);
        Some(part)
    }

    /// Returns the part of a strategic merge patch; `None` for the whole object.
    pub fn of_strategic_patch(message: &'static Message, patch: &Object) -> Option<Self> {
        let mut part = Part::root(message)?;
        part.add_strategic_patch(message, patch, LEVELS_MAX).then_some(part)
    }

    /// Returns the members of every part: the type of the object. `None` for types without parts: those with
    /// members of any name, and those with verbatim JSON, because invalid JSON in any member is an error.
    fn root(message: &'static Message) -> Option<Self> {
        let type_meta = ["kind", "apiVersion"].map(|name| (name, Extent::Whole));
        (!message.open && !message.info.verbatim).then(|| Part(BTreeMap::from(type_meta)))
    }

    /// Returns the members of an object that belong to the part.
    #[must_use]
    pub fn select(&self, object: &Object) -> Object {
        let mut selected = Object::with_capacity(self.0.len());
        for (name, extent) in &self.0 {
            let Some((name, value)) = object.get_key_value(*name) else { continue };
            let value = match (extent, value) {
                (Extent::Members(part), Value::Object(inner)) => Value::Object(part.select(inner)),
                (_, value) => value.clone(),
            };
            selected.insert(name.clone(), value);
        }
        selected
    }

    /// Returns the object with these members in place of its [selected](Self::select) ones.
    #[must_use]
    pub fn replace(&self, object: &Object, mut selected: Object) -> Object {
        let mut replaced = Object::with_capacity(object.len().saturating_add(selected.len()));
        for (name, value) in object {
            match self.0.get(name.as_str()) {
                None => drop(replaced.insert(name.clone(), value.clone())),
                Some(Extent::Whole) => {}
                Some(Extent::Members(part)) => {
                    let Value::Object(old) = value else { continue };
                    // The struct stays even if the decoder omits it because no selected member is left: a patch
                    // that removes a struct names all of it.
                    let inner = match selected.remove(name) {
                        Some(Value::Object(inner)) => inner,
                        _ => Object::new(),
                    };
                    replaced.insert(name.clone(), Value::Object(part.replace(old, inner)));
                }
            }
        }
        // The encoder adds required members, which do not belong to the part.
        replaced.extend(selected.into_iter().filter(|(name, _)| self.0.contains_key(name.as_str())));
        replaced
    }

    /// Adds the path of a JSON pointer, without its first slash. A path that leads nowhere adds nothing: it leads
    /// nowhere in the part, too.
    fn add_path(&mut self, message: &'static Message, path: &str) {
        let mut part = self;
        let mut message = message;
        let mut steps = path.split('/').peekable();
        let mut levels = LEVELS_MAX;
        while let Some(step) = steps.next() {
            let Some(field) = message.member(&unescape(step)) else { return };
            levels = levels.saturating_sub(1);
            let structure = structure(field).filter(|_| levels > 0 && steps.peek().is_some());
            let Some(inner) = structure else { return part.add_whole(field) };
            let Some(below) = part.members_of(field) else { return };
            part = below;
            message = inner;
        }
    }

    fn add_merge_patch(&mut self, message: &'static Message, patch: &[u8], levels: usize) {
        let patch = members(patch).unwrap_or_default();
        for (name, value) in patch.iter() {
            let Some(field) = message.member(name) else { continue };
            let inner = match value {
                Node::Text(text) if levels > 1 => structure(field).zip(object_text(text)),
                _ => None,
            };
            match inner {
                None => self.add_whole(field),
                Some((inner, text)) => {
                    if let Some(part) = self.members_of(field) {
                        part.add_merge_patch(inner, text, levels - 1);
                    }
                }
            }
        }
    }

    /// Adds a strategic merge patch of a struct. Returns false if a directive affects all members.
    fn add_strategic_patch(&mut self, message: &'static Message, patch: &Object, levels: usize) -> bool {
        for (name, value) in patch {
            let (name, is_directive) = match strategic::directive(name) {
                strategic::Directive::None => (name.as_str(), false),
                strategic::Directive::List(name) => (name, true),
                strategic::Directive::Object => return false,
            };
            let Some(field) = message.member(name) else { continue };
            let inner = match value {
                Value::Object(patch) if levels > 1 && !is_directive && !strategic::replaces(field) => {
                    structure(field).map(|inner| (inner, patch))
                }
                _ => None,
            };
            let is_split = inner.is_some_and(|(inner, patch)| {
                self.members_of(field).is_some_and(|part| part.add_strategic_patch(inner, patch, levels - 1))
            });
            if !is_split {
                self.add_whole(field);
            }
        }
        true
    }

    fn add_whole(&mut self, field: &'static Field) {
        self.0.insert(field.name, Extent::Whole);
    }

    /// Returns the part of a struct in a field; `None` if the part already contains all of it.
    fn members_of(&mut self, field: &'static Field) -> Option<&mut Part> {
        match self.0.entry(field.name).or_insert_with(|| Extent::Members(Part::default())) {
            Extent::Whole => None,
            Extent::Members(part) => Some(part),
        }
    }
}

/// Returns the type of a field with a single struct.
fn structure(field: &Field) -> Option<&'static Message> {
    match (field.cardinality, field.ty) {
        (Cardinality::One, Type::Message(message)) if message.shape == Shape::Struct => Some(message),
        _ => None,
    }
}

fn object_text(text: &[u8]) -> Option<&[u8]> {
    text.starts_with(b"{").then_some(text)
}
