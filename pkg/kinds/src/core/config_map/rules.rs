//! Validation of config maps.

use crate::core::config::{BYTES_MAX, decoded_len, unchanged_if_immutable};
use crate::validation::NameRule;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::invalid_each;
use api::tree::{child, pairs};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: config_map, update: config_map_update };

fn config_map(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let data = Path::root("data");
    let binary = Path::root("binaryData");
    let mut size = 0;
    for (key, value) in pairs(new, "data") {
        invalid_each(&data.key(key), key, names::is_config_map_key(key), &mut errors);
        if child(new, "binaryData").is_some_and(|binary| binary.contains_key(key)) {
            let detail = "duplicate of key present in binaryData";
            errors.push(Error::invalid(&data.key(key), key, detail));
        }
        size += value.len();
    }
    for (key, value) in pairs(new, "binaryData") {
        invalid_each(&binary.key(key), key, names::is_config_map_key(key), &mut errors);
        size += decoded_len(value);
    }
    if size > BYTES_MAX {
        // The error is about the whole object.
        errors.push(Error::too_long(&Path::root(""), Some(BYTES_MAX)));
    }
    errors
}

fn config_map_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    unchanged_if_immutable(new, old, &["data", "binaryData"], &mut errors);
    errors.append(config_map(new));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(value: Value) -> Object {
        let Value::Object(mut object) = value else { unreachable!("tests give objects") };
        let meta = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.extend([("name".to_owned(), "n".into()), ("namespace".to_owned(), "ns".into())]);
            meta.insert("resourceVersion", "1".into());
        }
        object
    }

    fn texts_of(errors: &ErrorList) -> Vec<String> {
        errors.iter().map(Error::to_string).collect()
    }

    fn check_map(map: Value, expected: &[&str]) {
        assert_eq!(texts_of(&config_map(&object(map))), expected);
    }

    #[test]
    fn keys_are_valid_and_unique_across_maps() {
        check_map(json!({"data": {"a": "b", ".c": ""}, "binaryData": {"d": "AA=="}}), &[]);
        let key = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
            'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        check_map(json!({"data": {"a/b": ""}}), &[&format!("data[a/b]: Invalid value: \"a/b\": {key}")]);
        check_map(
            json!({"data": {"a": ""}, "binaryData": {"a": ""}}),
            &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
        );
    }

    #[test]
    fn size_is_limited_to_one_mebibyte() {
        let text = |length: usize| "x".repeat(length);
        check_map(json!({"data": {"a": text(BYTES_MAX)}}), &[]);
        let detail = "Too long: may not be more than 1048576 bytes";
        check_map(json!({"data": {"a": text(BYTES_MAX), "b": "x"}}), &[&format!("[]: {detail}")]);
    }

    #[test]
    fn immutable_data_stay_as_they_are() {
        let check = |new: Value, old: Value, expected: &[&str]| {
            let errors = config_map_update("", &object(new), &object(old));
            assert_eq!(texts_of(&errors), expected);
        };
        let old = json!({"immutable": true, "data": {"a": "b"}});
        check(old.clone(), old.clone(), &[]);
        check(json!({"data": {"a": "c"}}), json!({"data": {"a": "b"}}), &[]);
        let detail = "Forbidden: field is immutable when `immutable` is set";
        check(
            json!({"binaryData": {"a": ""}}),
            old,
            &[&format!("immutable: {detail}"), &format!("data: {detail}"), &format!("binaryData: {detail}")],
        );
    }
}
