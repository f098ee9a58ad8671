//! Validation of secrets.

use crate::core::config::{BYTES_MAX, decoded_len, unchanged_if_immutable};
use crate::validation::NameRule;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::invalid_each;
use api::tree::{child, pairs, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::json;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: secret, update: secret_update };

fn secret(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let path = Path::root("data");
    let mut size = 0;
    for (key, value) in pairs(new, "data") {
        invalid_each(&path.key(key), key, names::is_config_map_key(key), &mut errors);
        size += decoded_len(value);
    }
    if size > BYTES_MAX {
        errors.push(Error::too_long(&path, Some(BYTES_MAX)));
    }
    contents_of_type(new, &path, &mut errors);
    errors
}

fn secret_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let kind = text(new, "type");
    if kind != text(old, "type") {
        errors.push(Error::invalid(&Path::root("type"), BadValue::json_text(kind), "field is immutable"));
    }
    unchanged_if_immutable(new, old, &["data"], &mut errors);
    errors.append(secret(new));
    errors
}

/// Checks that a secret of a known type has the required data. `path` is that of the data.
fn contents_of_type(secret: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let empty = Object::new();
    let data = child(secret, "data").unwrap_or(&empty);
    let missing = |key: &str| Error::required(&path.key(key), "");
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let annotations = child(secret, "metadata").and_then(|meta| child(meta, "annotations"));
            if annotations.is_none_or(|annotations| text(annotations, key).is_empty()) {
                errors.push(Error::required(&Path::root("metadata.annotations").key(key), ""));
            }
        }
        "kubernetes.io/dockercfg" => errors.extend(json_object(data, ".dockercfg", path)),
        "kubernetes.io/dockerconfigjson" => errors.extend(json_object(data, ".dockerconfigjson", path)),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            if !keys.iter().any(|key| data.contains_key(*key)) {
                errors.extend(keys.map(missing));
            }
        }
        "kubernetes.io/ssh-auth" if text(data, "ssh-privatekey").is_empty() => {
            errors.push(missing("ssh-privatekey"));
        }
        "kubernetes.io/tls" => {
            let keys = ["tls.crt", "tls.key"].into_iter().filter(|key| !data.contains_key(*key));
            errors.extend(keys.map(missing));
        }
        _ => {}
    }
}

/// Checks that an entry is present and a JSON object. Errors do not show its content.
fn json_object(data: &Object, key: &str, path: &Path<'_>) -> Option<Error> {
    let Some(value) = data.get(key) else { return Some(Error::required(&path.key(key), "")) };
    let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
    let kind = match (json::decode_untyped(&bytes), bytes.trim_ascii_start().first()) {
        (Err(error), _) if error.is_syntax() => return Some(redacted(path, key, error.to_string())),
        (Err(error), Some(b'{')) => return Some(redacted(path, key, error.to_string())),
        (Ok(_), Some(b'{' | b'n')) => return None,
        (_, Some(b'[')) => "array",
        (_, Some(b'"')) => "string",
        (_, Some(b't' | b'f')) => "bool",
        _ => "number",
    };
    let detail = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    Some(redacted(path, key, detail))
}

fn redacted(path: &Path<'_>, key: &str, detail: String) -> Error {
    Error::invalid(&path.key(key), "<secret contents redacted>", detail)
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

    fn check_secret(secret: Value, expected: &[&str]) {
        assert_eq!(texts_of(&self::secret(&object(secret))), expected);
    }

    #[test]
    fn size_is_limited_to_one_mebibyte() {
        let detail = "Too long: may not be more than 1048576 bytes";
        let base64 = format!("{}AA==", "AAAA".repeat(BYTES_MAX / 3));
        check_secret(json!({"data": {"a": base64}}), &[]);
        check_secret(json!({"data": {"a": base64, "b": "AA=="}}), &[&format!("data: {detail}")]);
    }

    #[test]
    fn secrets_have_the_data_of_their_type() {
        let check = |kind: &str, data: Value, expected: &[&str]| {
            check_secret(json!({"type": kind, "data": data}), expected);
        };
        let base64 = |text: &str| STANDARD.encode(text);
        check("Opaque", json!({}), &[]);
        check("kubernetes.io/tls", json!({"tls.crt": ""}), &["data[tls.key]: Required value"]);
        check("kubernetes.io/basic-auth", json!({"password": ""}), &[]);
        check(
            "kubernetes.io/basic-auth",
            json!({}),
            &["data[username]: Required value", "data[password]: Required value"],
        );
        check(
            "kubernetes.io/ssh-auth",
            json!({"ssh-privatekey": ""}),
            &["data[ssh-privatekey]: Required value"],
        );
        check(
            "kubernetes.io/service-account-token",
            json!({}),
            &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        );
        let docker = "kubernetes.io/dockerconfigjson";
        let redacted = "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\":";
        check(docker, json!({".dockerconfigjson": base64("{}")}), &[]);
        check(docker, json!({}), &["data[.dockerconfigjson]: Required value"]);
        check(
            docker,
            json!({".dockerconfigjson": ""}),
            &[&format!("{redacted} unexpected end of JSON input")],
        );
        check(
            docker,
            json!({".dockerconfigjson": base64("[]")}),
            &[&format!(
                "{redacted} json: cannot unmarshal array into Go value of type map[string]interface {{}}"
            )],
        );
        check(
            docker,
            json!({".dockerconfigjson": base64("1e999")}),
            &[&format!(
                "{redacted} json: cannot unmarshal number into Go value of type map[string]interface {{}}"
            )],
        );
    }

    #[test]
    fn the_type_of_a_secret_stays() {
        let errors = secret_update("", &object(json!({"type": "a"})), &object(json!({"type": "b"})));
        assert_eq!(texts_of(&errors), ["type: Invalid value: \"a\": field is immutable"]);
    }
}
