//! CBOR of every fixture: encoded like upstream, and decoded to the same tree.

use jsontree::Value;
use schema::object::Object;
use schema::{cbor, json, json_write};

use crate::archive::pairs;
use crate::fixtures::{CURRENT, same, tree};
use crate::mutations::{Random, mutate};

/// Like `without_item_kinds` for JSON: upstream's codecs do not write the type of claim templates.
fn forget_item_kinds(object: &mut Object) {
    for (name, value) in object {
        match value {
            Value::Object(inner) => forget_item_kinds(inner),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| {
                if name == "volumeClaimTemplates" {
                    item.remove("kind");
                    item.remove("apiVersion");
                }
                forget_item_kinds(item);
            }),
            _ => {}
        }
    }
}

#[test]
fn fixtures_encode_like_upstream() {
    let expected = crate::testdata::files("cbor");
    let mut count = 0;
    for pair in ["fixtures", "generated"].into_iter().flat_map(pairs) {
        let Some(expected) = expected.get(&format!("{}.cbor", pair.name)) else { continue };
        let Some((message, envelope)) = pair.open() else { continue };
        let mut actual = Vec::new();
        let mut tree = tree(message, &envelope);
        forget_item_kinds(&mut tree);
        cbor::encode(message, &tree, &mut actual).unwrap();
        same(&pair.name, &actual, expected);
        count += 1;
    }
    assert_eq!(count, 187 + 1464, "all but those of kinds that clients do not register");
}

#[test]
fn trees_round_trip_through_cbor() {
    let mut count = 0;
    for pair in ["fixtures", "generated"].into_iter().flat_map(pairs) {
        let Some((message, _)) = pair.open() else { continue };
        let original = json::decode(message, &pair.json).unwrap().object;
        let mut bytes = Vec::new();
        cbor::encode(message, &original, &mut bytes).unwrap();
        let decoded = cbor::decode(message, &bytes).unwrap_or_else(|e| panic!("{}: {e}", pair.name));
        assert_eq!(decoded.strict, None, "{}", pair.name);
        let mut again = Vec::new();
        cbor::encode(message, &decoded.object, &mut again).unwrap();
        same(&pair.name, &again, &bytes);
        // Verbatim JSON is returned with other white space and in another order.
        let meaning = |object| {
            let mut text = Vec::new();
            json_write::encode(message, object, &mut text).unwrap();
            json::decode_untyped(&text).unwrap().value
        };
        assert_eq!(meaning(&decoded.object), meaning(&original), "{}", pair.name);
        count += 1;
    }
    assert_eq!(count, CURRENT);
}

#[test]
fn malformed_cbor_is_rejected_or_encodable() {
    let mut random = Random(0x6362_6f72);
    let mut decoded = 0;
    let mut refused = 0;
    for pair in pairs("fixtures") {
        let Some((message, envelope)) = pair.open() else { continue };
        let mut bytes = Vec::new();
        cbor::encode(message, &tree(message, &envelope), &mut bytes).unwrap();
        for _ in 0..20 {
            let broken = mutate(&bytes, b"\xff\xf7\x9f", &mut random);
            let _ = cbor::type_meta(&broken);
            let untyped = cbor::decode_untyped(&broken);
            match cbor::decode(message, &broken) {
                Ok(object) => {
                    let mut out = Vec::new();
                    cbor::encode(message, &object.object, &mut out).unwrap();
                    let again = cbor::decode(message, &out).unwrap_or_else(|e| panic!("{}: {e}", pair.name));
                    let mut twice = Vec::new();
                    cbor::encode(message, &again.object, &mut twice).unwrap();
                    same(&pair.name, &twice, &out);
                    decoded += 1;
                }
                Err(_) => refused += 1,
            }
            drop(untyped);
        }
    }
    assert!(decoded > 300 && refused > 300, "{decoded} {refused}");
}
