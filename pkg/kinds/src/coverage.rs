//! Checks that the OpenAPI defaults of all served kinds are filled in, with a walk over all fields of their
//! types.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use component_base::features::Gates;
use std::collections::BTreeSet;

use api::resources;
use jsontree::{Value, json};
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};

/// The OpenAPI default of every field of a served kind is filled in if the parent struct is present. Defaults
/// equal to the zero value are not checked.
#[test]
fn every_declared_default_is_filled_in() {
    let mut lacking = BTreeSet::new();
    let mut seen = 0;
    let kinds: BTreeSet<_> = resources::all().map(|row| (row.kind_group_version, row.kind)).collect();
    for (api_version, kind) in kinds {
        let Some(message) = schema::builtin::kind(api_version, kind) else { continue };
        declared(message, &mut Vec::new(), &mut |path, default| {
            seen += 1;
            let mut object = parents(path);
            crate::defaults::apply(api_version, kind, &mut object, &Gates::default());
            if value_at(&Value::Object(object), path) != Some(&default) {
                let path: Vec<_> = path.iter().map(|(name, _)| *name).collect();
                lacking.insert(format!("{api_version} {kind} {}", path.join(".")));
            }
        });
    }
    assert!(lacking.is_empty(), "not filled in: {lacking:#?}");
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

fn value_at<'v>(object: &'v Value, way: &[Step]) -> Option<&'v Value> {
    let (last, parents) = way.split_last()?;
    let parent = parents.iter().try_fold(object, |at, (name, cardinality)| match cardinality {
        Cardinality::One => at.get(name),
        Cardinality::List => at.get(name)?.get(0),
        Cardinality::Map => at.get(name)?.get("key"),
    })?;
    parent.get(last.0)
}
