//! Checks that every served kind has its rules, with a walk over all resources and all fields of their types.
//! A kind without rules must be listed in `testdata/without_rules.json` with a reason. That list may only
//! shrink: a kind that has rules or is no longer served must be removed from it.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use component_base::features::Gates;
use std::collections::{BTreeMap, BTreeSet};

use jsontree::{Value, json};
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};

use crate::defaults::Defaults;
use crate::kind::{Kind, Validation};
use api::resources::{self, Resource};

/// Returns the exceptions for one category (`validation`, `defaulting`, `declared defaults`), with their
/// reasons.
fn list(of: &str) -> BTreeMap<String, String> {
    let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/without_rules.json")).unwrap();
    let mut lists: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_json::from_slice(&text).unwrap();
    let mut reasons = BTreeMap::new();
    for (reason, names) in lists.remove(of).unwrap() {
        for name in names {
            assert!(reasons.insert(name.clone(), reason.clone()).is_none(), "{name} stands there twice");
        }
    }
    reasons
}

/// Checks that the kinds without rules are exactly the listed ones.
fn check(of: &str, lacking: BTreeSet<String>) {
    let listed: BTreeSet<String> = list(of).into_keys().collect();
    let unlisted: Vec<_> = lacking.difference(&listed).collect();
    assert!(unlisted.is_empty(), "without {of}, and no word why: {unlisted:#?}");
    let needless: Vec<_> = listed.difference(&lacking).collect();
    assert!(needless.is_empty(), "listed as without {of}, and is not: {needless:#?}");
}

/// Iterates over the resources without subresources.
fn rows() -> impl Iterator<Item = &'static Resource<'static>> {
    resources::all().filter(|row| row.subresource.is_empty())
}

/// Returns group and plural; the core group has an empty name.
fn name(row: &Resource) -> String {
    format!("{} {}", row.group, row.plural).trim().to_owned()
}

#[test]
fn every_resource_is_validated() {
    let mut seen = 0;
    let lacking = rows().filter(|row| {
        seen += 1;
        Kind::of(row).is_some_and(|kind| matches!(kind.validation, Validation::Metadata))
    });
    let lacking: Vec<_> = lacking.collect();
    let excuses = list("validation");
    for row in lacking.iter().filter(|row| !row.off_by_default) {
        let excuse = excuses.get(&name(row)).map_or("", String::as_str);
        assert!(!excuse.starts_with("off by default"), "{} is on", row.plural);
    }
    check("validation", lacking.into_iter().map(name).collect());
    assert!(seen > 90, "{seen}");
}

#[test]
fn every_kind_is_defaulted() {
    let lacking = resources::all().filter(|row| {
        // A subresource can use a kind of another group, such as Scale.
        row.kind_group_version == row.group_version && Defaults::of(row.group_version, row.kind).is_none()
    });
    check("defaulting", lacking.map(|row| format!("{} {}", row.group_version, row.kind)).collect());
}

/// The OpenAPI default of every field of a served kind is filled in if the parent struct is present. Defaults
/// equal to the zero value are not checked.
#[test]
fn every_declared_default_is_filled_in() {
    let (mut lacking, mut seen) = (BTreeSet::new(), 0);
    let kinds: BTreeSet<_> = resources::all().map(|row| (row.kind_group_version, row.kind)).collect();
    for (api_version, kind) in kinds {
        let Some(message) = schema::builtin::kind(api_version, kind) else { continue };
        declared(message, &mut Vec::new(), &mut |path, default| {
            seen += 1;
            let mut object = parents(path);
            crate::defaults::apply(api_version, kind, &mut object, &Gates::default());
            if found(&Value::Object(object), path) != Some(&default) {
                let path: Vec<_> = path.iter().map(|(name, _)| *name).collect();
                lacking.insert(format!("{api_version} {kind} {}", path.join(".")));
            }
        });
    }
    check("declared defaults", lacking);
    assert!(seen > 120, "{seen}");
}

/// Step of a field path: the member's name and cardinality.
type Step = (&'static str, Cardinality);

/// Calls `see` with every field that declares a default other than its zero value.
fn declared(message: &'static Message, way: &mut Vec<Step>, see: &mut dyn FnMut(&[Step], Value)) {
    // Only schemas of custom resources recurse, and they declare no defaults.
    if way.len() > 16 || message.name.contains("JSONSchemaProps") {
        return;
    }
    for member in message.members {
        way.push((member.name, member.field.cardinality));
        let default = match member.field.info.default {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap(),
        };
        if !matches!(&default, Value::Null)
            && ![json!({}), json!(""), json!(0), json!(false)].contains(&default)
        {
            see(way, default);
        }
        if let Type::Message(inner) = member.field.ty
            && inner.shape == Shape::Struct
        {
            declared(inner, way, see);
        }
        way.pop();
    }
}

/// Returns an object with the parent structs of a field but without the field.
fn parents(way: &[Step]) -> Object {
    let Some((_, parents)) = way.split_last() else { return Object::new() };
    parents.iter().rev().fold(Object::new(), |inner, (name, cardinality)| {
        let inner = match cardinality {
            Cardinality::One => Value::Object(inner),
            Cardinality::List => json!([inner]),
            Cardinality::Map => json!({"key": inner}),
        };
        Object::from_iter([((*name).to_owned(), inner)])
    })
}

fn found<'v>(object: &'v Value, way: &[Step]) -> Option<&'v Value> {
    let (last, parents) = way.split_last()?;
    let parent = parents.iter().try_fold(object, |at, (name, cardinality)| match cardinality {
        Cardinality::One => at.get(name),
        Cardinality::List => at.get(name)?.get(0),
        Cardinality::Map => at.get(name)?.get("key"),
    })?;
    parent.get(last.0)
}
