//! An object as a rule sees it: a tree, or the stored bytes.
//!
//! The same rules run over both. Over a tree they fill in. Over bytes they change nothing, and the first
//! wish to change something is all that is asked for: whether an object in the cache lacks defaults is
//! found without decoding it, and cannot come to differ from what filling in would do.

use std::cell::Cell;

use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::memory::BudgetExceeded;
use schema::object::{self, Object as Tree};
use schema::proto::inplace::{MapRef, MemberRef, MessageRef, NotInPlace};

/// A struct or map.
///
/// A pointer field is nil when the member is absent or `null`; any other field is zero also when it is
/// `""`, `0` or `false`.
pub(crate) struct Object<'a> {
    form: Form<'a>,
    given: &'a Given<'a>,
}

/// What rules are given besides the object.
pub(crate) struct Given<'a> {
    gates: &'a Gates,
    /// Whether something was not filled in because it would make the object too large for any store.
    full: Cell<bool>,
}

impl<'a> Given<'a> {
    pub(crate) fn of(gates: &'a Gates) -> Self {
        Given { gates, full: Cell::new(false) }
    }

    /// Whether all was filled in.
    ///
    /// # Errors
    /// The object would have become too large.
    pub(crate) fn done(&self) -> Result<(), BudgetExceeded> {
        if self.full.get() { Err(BudgetExceeded) } else { Ok(()) }
    }
}

enum Form<'a> {
    Tree(&'a mut Tree),
    Bytes(Place<'a>),
}

/// A struct inside an object's bytes.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// None for a struct that is absent, which is a zero struct.
    message: Option<MessageRef<'a>>,
    /// Whether a rule has wanted to change something. From then on no more is read.
    wanting: &'a Cell<bool>,
}

impl<'a> Object<'a> {
    /// A tree to fill in.
    pub(crate) fn tree(tree: &'a mut Tree, given: &'a Given<'a>) -> Self {
        Object { form: Form::Tree(tree), given }
    }

    /// Whether a feature gate is open.
    pub(crate) fn enabled(&self, gate: Gate) -> bool {
        self.given.gates.enabled(gate)
    }

    /// Whether a rule would change an object. What cannot be read in place (broken bytes, not canonical
    /// ones) may be changed.
    pub(crate) fn is_changed_by(
        message: MessageRef<'_>,
        gates: &Gates,
        rule: impl FnOnce(&mut Object<'_>),
    ) -> bool {
        let wanting = Cell::new(false);
        let form = Form::Bytes(Place { message: Some(message), wanting: &wanting });
        rule(&mut Object { form, given: &Given::of(gates) });
        wanting.get()
    }

    /// Applies a rule that only trees have the verbs for. Slow over bytes, which are decoded for it, so
    /// callers look first whether there can be anything to do.
    pub(crate) fn decoded(&mut self, rule: impl FnOnce(&mut Tree)) {
        match &mut self.form {
            Form::Tree(tree) => rule(tree),
            Form::Bytes(place) => {
                let Some(Ok(before)) = place.message.map(MessageRef::tree) else { return place.want() };
                let mut after = before.clone();
                rule(&mut after);
                if after != before {
                    place.want();
                }
            }
        }
    }

    /// Puts a value in the place of a member.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        match &mut self.form {
            Form::Tree(tree) => _ = tree.insert(name, value.into()),
            Form::Bytes(place) => place.want(),
        }
    }

    /// Puts a value at a path, whose structs are made where they are missing.
    pub(crate) fn set_at(&mut self, path: &[&str], value: impl Into<Value>) {
        match &mut self.form {
            Form::Tree(tree) => object::set(tree, path, value),
            Form::Bytes(place) => place.want(),
        }
    }

    /// Takes a member away.
    pub(crate) fn remove(&mut self, name: &str) {
        match &mut self.form {
            Form::Tree(tree) => _ = tree.remove(name),
            Form::Bytes(place) if place.has(name) => place.want(),
            Form::Bytes(_) => {}
        }
    }

    /// Whether there is no such member, not even a `null`.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        match &self.form {
            Form::Tree(tree) => !tree.contains_key(name),
            Form::Bytes(place) => !place.has(name),
        }
    }

    /// Applies a rule to the struct in a member. One that is absent is `made` if the rule fills something
    /// in, or else left alone.
    pub(crate) fn inside(&mut self, name: &str, made: bool, rule: impl FnOnce(&mut Object<'_>)) {
        let given = self.given;
        match &mut self.form {
            Form::Tree(tree) => match tree.get_mut(name) {
                Some(slot) if made => apply_to(slot, given, rule),
                Some(Value::Object(inner)) => rule(&mut Object::tree(inner, given)),
                None if made => {
                    let mut inner = Tree::new();
                    rule(&mut Object::tree(&mut inner, given));
                    if !inner.is_empty() {
                        tree.insert(name, Value::Object(inner));
                    }
                }
                _ => {}
            },
            Form::Bytes(place) => {
                let message = match place.get(name) {
                    MemberRef::Message(message) if made || message.is_set() != Ok(false) => Some(message),
                    _ => None,
                };
                if message.is_some() || made {
                    place.visit(message, given, rule);
                }
            }
        }
    }

    /// Applies a rule to every struct of a list or map.
    pub(crate) fn items(&mut self, name: &str, mut rule: impl FnMut(&mut Object<'_>)) {
        let given = self.given;
        match &mut self.form {
            Form::Tree(tree) => match tree.get_mut(name) {
                Some(Value::Array(items)) => {
                    items.iter_mut().for_each(|item| apply_to(item, given, &mut rule))
                }
                Some(Value::Object(items)) => {
                    items.values_mut().for_each(|item| apply_to(item, given, &mut rule))
                }
                _ => {}
            },
            Form::Bytes(place) => match place.get(name) {
                MemberRef::List(list) => place.each(list.iter(), given, rule),
                MemberRef::Map(map) => place.each(map.iter().map(|entry| Ok(entry?.1)), given, rule),
                _ => {}
            },
        }
    }

    /// Applies a rule to every struct among the members.
    pub(crate) fn structs(&mut self, mut rule: impl FnMut(&str, &mut Object<'_>)) {
        let given = self.given;
        match &mut self.form {
            Form::Tree(tree) => {
                for (name, value) in tree.iter_mut() {
                    if let Value::Object(inner) = value {
                        rule(name, &mut Object::tree(inner, given));
                    }
                }
            }
            Form::Bytes(place) => {
                let place = *place;
                let mut visit =
                    |name: &'static str, inner| place.visit(Some(inner), given, |inner| rule(name, inner));
                if place.message.is_some_and(|message| message.each_struct(&mut visit).is_err()) {
                    place.want();
                }
            }
        }
    }

    /// Puts other texts in the place of a map's, for which `other` gives one.
    pub(crate) fn revise(&mut self, name: &str, other: impl Fn(&str) -> Option<String>) {
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
                    place.want();
                }
            }
        }
    }

    /// Copies the entries of the map `from` that the map `to` lacks into `to`, which is made when it is
    /// needed; if no store would take the keys twice, nothing is copied and there is [no room](Given::done).
    pub(crate) fn copy_missing(&mut self, from: &str, to: &str) {
        match &mut self.form {
            Form::Tree(tree) => {
                let Some(Value::Object(source)) = tree.get(from) else { return };
                let target = tree.get(to).and_then(Value::as_object);
                let missing: Vec<_> = source
                    .iter()
                    .filter(|(key, _)| target.is_none_or(|target| !target.contains_key(*key)))
                    .collect();
                if !missing.is_empty() && !has_room_twice(source) {
                    return self.given.full.set(true);
                }
                let missing: Vec<_> =
                    missing.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                for (key, value) in missing {
                    object::set(tree, &[to, &key], value);
                }
            }
            Form::Bytes(place) => {
                let MemberRef::Map(source) = place.get(from) else { return };
                let MemberRef::Map(target) = place.get(to) else { return place.want() };
                if !has_keys_of(target, source) {
                    place.want();
                }
            }
        }
    }

    /// Puts a copy of the map at one path to another one, unless it is empty or there is none. If no store would
    /// take its keys twice, there is [no room](Given::done).
    pub(crate) fn copy(&mut self, from: &[&str], to: &[&str]) {
        match &mut self.form {
            Form::Tree(tree) => match object::get_object(tree, from).filter(|map| !map.is_empty()) {
                Some(map) if !has_room_twice(map) => self.given.full.set(true),
                Some(map) => object::set(tree, to, map.clone()),
                None => {}
            },
            Form::Bytes(place) => {
                if matches!(place.at(from), MemberRef::Map(_)) {
                    place.want();
                }
            }
        }
    }

    /// Whether a pointer, list or map field is nil.
    pub(crate) fn is_nil(&self, name: &str) -> bool {
        self.is_nil_at(&[name])
    }

    /// Whether the pointer, list or map at a path is nil, or the path breaks off.
    pub(crate) fn is_nil_at(&self, path: &[&str]) -> bool {
        match &self.form {
            Form::Tree(tree) => object::get(tree, path).is_none_or(Value::is_null),
            Form::Bytes(place) => match place.at(path) {
                MemberRef::Absent => true,
                MemberRef::Message(message) => message.is_set() == Ok(false),
                _ => false,
            },
        }
    }

    /// Whether a field that is no pointer holds its zero value. Lists and maps: whether it has no entries.
    pub(crate) fn is_zero(&self, name: &str) -> bool {
        self.is_zero_at(&[name])
    }

    /// As [`is_zero`](Self::is_zero), of what is at a path.
    pub(crate) fn is_zero_at(&self, path: &[&str]) -> bool {
        match &self.form {
            Form::Tree(tree) => match object::get(tree, path) {
                None | Some(Value::Null | Value::Bool(false)) => true,
                Some(Value::Bool(true)) => false,
                Some(Value::Number(number)) => number.as_i64() == Some(0),
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
            },
            Form::Bytes(place) => match place.at(path) {
                MemberRef::Absent | MemberRef::Bool(false) | MemberRef::Int(0) => true,
                MemberRef::Text(text) => text.is_empty(),
                MemberRef::Bytes(bytes) => bytes.is_empty(),
                MemberRef::Message(message) => message.tree().is_ok_and(|tree| tree.is_empty()),
                _ => false,
            },
        }
    }

    /// A text; empty when it is absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.text_at(&[name])
    }

    /// The text at a path; empty when it is absent.
    pub(crate) fn text_at(&self, path: &[&str]) -> &str {
        match &self.form {
            Form::Tree(tree) => object::get_str(tree, path).unwrap_or_default(),
            Form::Bytes(place) => match place.at(path) {
                MemberRef::Text(text) => text,
                _ => "",
            },
        }
    }

    /// An integer; 0 when it is absent.
    pub(crate) fn integer(&self, name: &str) -> i64 {
        match &self.form {
            Form::Tree(tree) => api::tree::integer(tree, name),
            Form::Bytes(place) => match place.get(name) {
                MemberRef::Int(number) => number,
                _ => 0,
            },
        }
    }

    /// A boolean; false when it is absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        match &self.form {
            Form::Tree(tree) => api::tree::flag(tree, name),
            Form::Bytes(place) => matches!(place.get(name), MemberRef::Bool(true)),
        }
    }
}

/// Where a struct stands `null` is the zero struct.
fn apply_to(slot: &mut Value, given: &Given<'_>, rule: impl FnOnce(&mut Object<'_>)) {
    if slot.is_null() {
        *slot = Value::Object(Tree::new());
    }
    if let Value::Object(inner) = slot {
        rule(&mut Object::tree(inner, given));
    }
}

impl<'a> Place<'a> {
    fn want(&self) {
        self.wanting.set(true);
    }

    fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), MemberRef::Absent)
    }

    /// A member. Nothing more is read, and so nothing is there, once there is something to change.
    #[inline]
    fn get(&self, name: &str) -> MemberRef<'a> {
        let Some(message) = self.message.filter(|_| !self.wanting.get()) else { return MemberRef::Absent };
        message.get(name).unwrap_or_else(|_| {
            self.want();
            MemberRef::Absent
        })
    }

    fn at(&self, path: &[&str]) -> MemberRef<'a> {
        let Some((first, rest)) = path.split_first() else { return MemberRef::Absent };
        let mut member = self.get(first);
        for name in rest {
            member = match member {
                MemberRef::Message(message) => Place { message: Some(message), ..*self }.get(name),
                MemberRef::Map(map) => map.get(name).unwrap_or_else(|_| {
                    self.want();
                    MemberRef::Absent
                }),
                _ => MemberRef::Absent,
            };
        }
        member
    }

    fn visit(&self, message: Option<MessageRef<'a>>, given: &Given<'_>, rule: impl FnOnce(&mut Object<'_>)) {
        if !self.wanting.get() {
            rule(&mut Object { form: Form::Bytes(Place { message, ..*self }), given });
        }
    }

    fn each(
        &self,
        items: impl Iterator<Item = Result<MemberRef<'a>, NotInPlace>>,
        given: &Given<'_>,
        mut rule: impl FnMut(&mut Object<'_>),
    ) {
        for item in items {
            match item {
                Ok(MemberRef::Message(message)) => self.visit(Some(message), given, &mut rule),
                Ok(_) => {}
                Err(NotInPlace) => self.want(),
            }
            if self.wanting.get() {
                return;
            }
        }
    }
}

/// What a store takes of an object, in bytes, unless an operator has raised that.
const STORED_BYTES_MAX: usize = 1_572_864;
/// What an entry of a map takes in storage besides its texts, in bytes.
const ENTRY_BYTES: usize = 6;

/// Whether a store takes an object that has the keys of this map twice. What it does not take need not be made: a map of
/// the shortest entries is some thirty times as large in memory.
fn has_room_twice(map: &Tree) -> bool {
    map.keys().map(|key| key.len() + ENTRY_BYTES).sum::<usize>() <= STORED_BYTES_MAX / 2
}

/// Whether a map has all keys of another one. Both are sorted, so each is walked over once.
fn has_keys_of(map: MapRef<'_>, other: MapRef<'_>) -> bool {
    let mut keys = map.iter();
    other.iter().all(|entry| {
        let Ok((wanted, _)) = entry else { return false };
        let next = keys.find(|entry| !matches!(entry, Ok((key, _)) if *key < wanted));
        matches!(next, Some(Ok((key, _))) if key == wanted)
    })
}
