//! Object that a rule works on: a tree or the stored bytes.
//!
//! The same rules run over both. Over a tree they set defaults. Over bytes they change nothing: the first
//! attempted change only shows that a default is missing. This detects missing defaults of a cached object
//! without decoding it, and can never differ from the defaulting itself.

use std::cell::Cell;

use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::memory::BudgetExceeded;
use schema::object::{self, Object as Tree};
use schema::proto::inplace::{MapRef, MemberRef, MessageRef, NotInPlace};

/// A struct or map.
///
/// A pointer field is nil if the member is absent or `null`. Any other field is also zero if it is `""`, `0`
/// or `false`.
pub(crate) struct Object<'a> {
    form: Form<'a>,
    context: &'a DefaultingContext<'a>,
}

/// Sets the defaults of a kind's version in place.
pub(crate) type Rule = fn(&mut Object);

/// Input of the rules besides the object.
pub(crate) struct DefaultingContext<'a> {
    gates: &'a Gates,
    /// True if a default was omitted because it would make the object too large for any store.
    full: Cell<bool>,
}

impl<'a> DefaultingContext<'a> {
    pub(crate) fn of(gates: &'a Gates) -> Self {
        DefaultingContext { gates, full: Cell::new(false) }
    }

    /// Returns an error if a default was omitted.
    ///
    /// # Errors
    /// The object would have become too large.
    pub(crate) fn done(&self) -> Result<(), BudgetExceeded> {
        if self.full.get() { Err(BudgetExceeded) } else { Ok(()) }
    }
}

enum Form<'a> {
    Tree(&'a mut Tree),
    Bytes(StructRef<'a>),
}

/// Struct inside an object's bytes.
#[derive(Clone, Copy)]
struct StructRef<'a> {
    /// `None` for an absent struct, which is a zero struct.
    message: Option<MessageRef<'a>>,
    /// Set when a rule attempts a change. Nothing more is read afterwards.
    change_attempted: &'a Cell<bool>,
}

impl<'a> Object<'a> {
    pub(crate) fn tree(tree: &'a mut Tree, context: &'a DefaultingContext<'a>) -> Self {
        Object { form: Form::Tree(tree), context }
    }

    pub(crate) fn enabled(&self, gate: Gate) -> bool {
        self.context.gates.enabled(gate)
    }

    /// Returns true if a rule would change an object. Also true for bytes that cannot be read in place:
    /// broken or not canonical ones.
    pub(crate) fn is_changed_by(
        message: MessageRef<'_>,
        gates: &Gates,
        rule: impl FnOnce(&mut Object<'_>),
    ) -> bool {
        let change_attempted = Cell::new(false);
        let form = Form::Bytes(StructRef { message: Some(message), change_attempted: &change_attempted });
        rule(&mut Object { form, context: &DefaultingContext::of(gates) });
        change_attempted.get()
    }

    /// Applies a rule that needs a tree. Bytes are decoded for it, which is slow, so callers first check if
    /// the rule can apply.
    pub(crate) fn decoded(&mut self, rule: impl FnOnce(&mut Tree)) {
        match &mut self.form {
            Form::Tree(tree) => rule(tree),
            Form::Bytes(place) => {
                let Some(Ok(before)) = place.message.map(MessageRef::tree) else {
                    return place.record_change();
                };
                let mut after = before.clone();
                rule(&mut after);
                if after != before {
                    place.record_change();
                }
            }
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        match &mut self.form {
            Form::Tree(tree) => _ = tree.insert(name, value.into()),
            Form::Bytes(place) => place.record_change(),
        }
    }

    /// Sets a value at a path. Missing structs are created.
    pub(crate) fn set_at(&mut self, path: &[&str], value: impl Into<Value>) {
        match &mut self.form {
            Form::Tree(tree) => object::set(tree, path, value),
            Form::Bytes(place) => place.record_change(),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        match &mut self.form {
            Form::Tree(tree) => _ = tree.remove(name),
            Form::Bytes(place) if place.has(name) => place.record_change(),
            Form::Bytes(_) => {}
        }
    }

    /// True if there is no such member, not even a `null`.
    pub(crate) fn is_absent(&self, name: &str) -> bool {
        match &self.form {
            Form::Tree(tree) => !tree.contains_key(name),
            Form::Bytes(place) => !place.has(name),
        }
    }

    /// Applies a rule to the struct in a member. An absent struct is created if `made` is true and the rule
    /// sets something.
    pub(crate) fn inside(&mut self, name: &str, create: bool, rule: impl FnOnce(&mut Object<'_>)) {
        let context = self.context;
        match &mut self.form {
            Form::Tree(tree) => match tree.get_mut(name) {
                Some(slot) if create => apply_to(slot, context, rule),
                Some(Value::Object(inner)) => rule(&mut Object::tree(inner, context)),
                None if create => {
                    let mut inner = Tree::new();
                    rule(&mut Object::tree(&mut inner, context));
                    if !inner.is_empty() {
                        tree.insert(name, Value::Object(inner));
                    }
                }
                _ => {}
            },
            Form::Bytes(place) => {
                let message = match place.get(name) {
                    MemberRef::Message(message) if create || message.is_set() != Ok(false) => Some(message),
                    _ => None,
                };
                if message.is_some() || create {
                    place.visit(message, context, rule);
                }
            }
        }
    }

    /// Applies a rule to every struct of a list or map.
    pub(crate) fn items(&mut self, name: &str, mut rule: impl FnMut(&mut Object<'_>)) {
        let context = self.context;
        match &mut self.form {
            Form::Tree(tree) => match tree.get_mut(name) {
                Some(Value::Array(items)) => {
                    items.iter_mut().for_each(|item| apply_to(item, context, &mut rule))
                }
                Some(Value::Object(items)) => {
                    items.values_mut().for_each(|item| apply_to(item, context, &mut rule))
                }
                _ => {}
            },
            Form::Bytes(place) => match place.get(name) {
                MemberRef::List(list) => place.each(list.iter(), context, rule),
                MemberRef::Map(map) => place.each(map.iter().map(|entry| Ok(entry?.1)), context, rule),
                _ => {}
            },
        }
    }

    /// Applies a rule to every struct among the members.
    pub(crate) fn structs(&mut self, mut rule: impl FnMut(&str, &mut Object<'_>)) {
        let context = self.context;
        match &mut self.form {
            Form::Tree(tree) => {
                for (name, value) in tree.iter_mut() {
                    if let Value::Object(inner) = value {
                        rule(name, &mut Object::tree(inner, context));
                    }
                }
            }
            Form::Bytes(place) => {
                let place = *place;
                let mut visit =
                    |name: &'static str, inner| place.visit(Some(inner), context, |inner| rule(name, inner));
                if place.message.is_some_and(|message| message.each_struct(&mut visit).is_err()) {
                    place.record_change();
                }
            }
        }
    }

    /// Replaces the texts of a map for which `other` returns a new text.
    pub(crate) fn replace_texts(&mut self, name: &str, other: impl Fn(&str) -> Option<String>) {
        match &mut self.form {
            Form::Tree(tree) => {
                let Some(Value::Object(map)) = tree.get_mut(name) else { return };
                for value in map.values_mut() {
                    if let Some(other) = value.as_str().and_then(&other) {
                        *value = Value::from(other);
                    }
                }
            }
            Form::Bytes(place) => {
                let MemberRef::Map(map) = place.get(name) else { return };
                let is_kept = |entry: Result<(&str, MemberRef<'_>), NotInPlace>| match entry {
                    Ok((_, MemberRef::Quantity(text) | MemberRef::Text(text))) => other(text).is_none(),
                    entry => entry.is_ok(),
                };
                if !map.iter().all(is_kept) {
                    place.record_change();
                }
            }
        }
    }

    /// Copies missing entries from the map `from` to the map `to`, which is created if needed. If no store
    /// would accept the keys twice, nothing is copied and [`done`](DefaultingContext::done) returns an error.
    pub(crate) fn copy_missing(&mut self, from: &str, to: &str) {
        match &mut self.form {
            Form::Tree(tree) => {
                let Some(Value::Object(source)) = tree.get(from) else { return };
                let target = tree.get(to).and_then(Value::as_object);
                let missing: Vec<_> = source
                    .iter()
                    .filter(|(key, _)| target.is_none_or(|target| !target.contains_key(*key)))
                    .collect();
                if !missing.is_empty() && !fits_twice(source) {
                    return self.context.full.set(true);
                }
                let missing: Vec<_> =
                    missing.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                tree.entry(to).or_insert_with(|| Value::Object(Tree::new()));
                for (key, value) in missing {
                    object::set(tree, &[to, &key], value);
                }
            }
            Form::Bytes(place) => {
                let MemberRef::Map(source) = place.get(from) else { return };
                let MemberRef::Map(target) = place.get(to) else { return place.record_change() };
                if !has_keys_of(target, source) {
                    place.record_change();
                }
            }
        }
    }

    /// Copies the map at one path to another, unless it is empty or absent. If no store would accept its keys
    /// twice, [`done`](DefaultingContext::done) returns an error.
    pub(crate) fn copy(&mut self, from: &[&str], to: &[&str]) {
        match &mut self.form {
            Form::Tree(tree) => match object::get_object(tree, from).filter(|map| !map.is_empty()) {
                Some(map) if !fits_twice(map) => self.context.full.set(true),
                Some(map) => object::set(tree, to, map.clone()),
                None => {}
            },
            Form::Bytes(place) => {
                if matches!(place.get_path(from), MemberRef::Map(_)) {
                    place.record_change();
                }
            }
        }
    }

    /// True if a pointer, list or map field is nil.
    pub(crate) fn is_nil(&self, name: &str) -> bool {
        self.is_nil_at(&[name])
    }

    /// True if the pointer, list or map at a path is nil, or if the path does not exist.
    pub(crate) fn is_nil_at(&self, path: &[&str]) -> bool {
        match &self.form {
            Form::Tree(tree) => object::get(tree, path).is_none_or(Value::is_null),
            Form::Bytes(place) => match place.get_path(path) {
                MemberRef::Absent => true,
                MemberRef::Message(message) => message.is_set() == Ok(false),
                _ => false,
            },
        }
    }

    /// True if a non-pointer field has its zero value, or if a list or map is empty.
    pub(crate) fn is_zero(&self, name: &str) -> bool {
        self.is_zero_at(&[name])
    }

    /// Like [`is_zero`](Self::is_zero), for a path.
    pub(crate) fn is_zero_at(&self, path: &[&str]) -> bool {
        match &self.form {
            Form::Tree(tree) => match object::get(tree, path) {
                None | Some(Value::Null | Value::Bool(false)) => true,
                Some(Value::Bool(true) | Value::Raw(_)) => false,
                Some(Value::Number(number)) => number.as_i64() == Some(0),
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
            },
            Form::Bytes(place) => match place.get_path(path) {
                MemberRef::Absent | MemberRef::Bool(false) | MemberRef::Int(0) => true,
                MemberRef::Text(text) => text.is_empty(),
                MemberRef::Bytes(bytes) => bytes.is_empty(),
                MemberRef::Message(message) => message.tree().is_ok_and(|tree| tree.is_empty()),
                _ => false,
            },
        }
    }

    /// Returns a text; empty when absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.text_at(&[name])
    }

    /// Returns the text at a path; empty when absent.
    pub(crate) fn text_at(&self, path: &[&str]) -> &str {
        match &self.form {
            Form::Tree(tree) => object::get_str(tree, path).unwrap_or_default(),
            Form::Bytes(place) => match place.get_path(path) {
                MemberRef::Text(text) => text,
                _ => "",
            },
        }
    }

    /// Returns an integer; 0 when absent.
    pub(crate) fn integer(&self, name: &str) -> i64 {
        match &self.form {
            Form::Tree(tree) => api::tree::integer(tree, name),
            Form::Bytes(place) => match place.get(name) {
                MemberRef::Int(number) => number,
                _ => 0,
            },
        }
    }

    /// Returns a boolean; false when absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        match &self.form {
            Form::Tree(tree) => api::tree::flag(tree, name),
            Form::Bytes(place) => matches!(place.get(name), MemberRef::Bool(true)),
        }
    }
}

/// In place of a struct, `null` is the zero struct.
fn apply_to(slot: &mut Value, context: &DefaultingContext<'_>, rule: impl FnOnce(&mut Object<'_>)) {
    if slot.is_null() {
        *slot = Value::Object(Tree::new());
    }
    if let Value::Object(inner) = slot {
        rule(&mut Object::tree(inner, context));
    }
}

impl<'a> StructRef<'a> {
    fn record_change(&self) {
        self.change_attempted.set(true);
    }

    fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), MemberRef::Absent)
    }

    /// Returns a member. After the first attempted change it returns `Absent`, because nothing more needs to
    /// be read.
    #[inline]
    fn get(&self, name: &str) -> MemberRef<'a> {
        let Some(message) = self.message.filter(|_| !self.change_attempted.get()) else {
            return MemberRef::Absent;
        };
        message.get(name).unwrap_or_else(|_| {
            self.record_change();
            MemberRef::Absent
        })
    }

    fn get_path(&self, path: &[&str]) -> MemberRef<'a> {
        let Some((first, rest)) = path.split_first() else { return MemberRef::Absent };
        let mut member = self.get(first);
        for name in rest {
            member = match member {
                MemberRef::Message(message) => StructRef { message: Some(message), ..*self }.get(name),
                MemberRef::Map(map) => map.get(name).unwrap_or_else(|_| {
                    self.record_change();
                    MemberRef::Absent
                }),
                _ => MemberRef::Absent,
            };
        }
        member
    }

    fn visit(
        &self,
        message: Option<MessageRef<'a>>,
        context: &DefaultingContext<'_>,
        rule: impl FnOnce(&mut Object<'_>),
    ) {
        if !self.change_attempted.get() {
            rule(&mut Object { form: Form::Bytes(StructRef { message, ..*self }), context });
        }
    }

    fn each(
        &self,
        items: impl Iterator<Item = Result<MemberRef<'a>, NotInPlace>>,
        context: &DefaultingContext<'_>,
        mut rule: impl FnMut(&mut Object<'_>),
    ) {
        for item in items {
            match item {
                Ok(MemberRef::Message(message)) => self.visit(Some(message), context, &mut rule),
                Ok(_) => {}
                Err(NotInPlace) => self.record_change(),
            }
            if self.change_attempted.get() {
                return;
            }
        }
    }
}

/// Default size limit of a stored object in bytes.
const STORED_BYTES_MAX: usize = 1_572_864;
/// Stored size of a map entry besides its texts, in bytes.
const ENTRY_BYTES: usize = 6;

/// True if a store accepts an object with the keys of this map twice. Otherwise the copy is not made: a map
/// of the shortest entries is some thirty times as large in memory.
fn fits_twice(map: &Tree) -> bool {
    map.keys().map(|key| key.len() + ENTRY_BYTES).sum::<usize>() <= STORED_BYTES_MAX / 2
}

/// True if a map has all keys of another one. Both are sorted, so one pass over each is enough.
fn has_keys_of(map: MapRef<'_>, other: MapRef<'_>) -> bool {
    let mut keys = map.iter();
    other.iter().all(|entry| {
        let Ok((expected, _)) = entry else { return false };
        let next = keys.find(|entry| !matches!(entry, Ok((key, _)) if *key < expected));
        matches!(next, Some(Ok((key, _))) if key == expected)
    })
}
