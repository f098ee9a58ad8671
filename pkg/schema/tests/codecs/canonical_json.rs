//! Checks that text reported as canonical equals the encoder's output.

use schema::table::Message;
use schema::{builtin, json, json_write};

use crate::archive::pairs;
use crate::mutations::{Random, mutate};

/// The text after decoding and encoding.
fn again(message: &'static Message, text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let decoded = json::decode(message, text).ok()?;
    json_write::encode(message, &decoded.object, &mut out).ok()?;
    Some(out)
}

/// Returns the canonical check's result, and verifies a positive one.
fn is_canonical(name: &str, message: &'static Message, text: &[u8]) -> bool {
    let verdict = json::is_canonical(message, text);
    if verdict {
        assert_eq!(again(message, text).as_deref(), Some(text), "{name}: {}", String::from_utf8_lossy(text));
    }
    verdict
}

/// Variants per fixture. A soak test uses a thousand.
const ROUNDS: usize = 20;

#[test]
fn canonical_text_does_not_change() {
    let mut random = Random(0x6a73_6f6e);
    let mut canonical = 0;
    let mut changed = 0;
    for archive in ["fixtures", "generated"] {
        for pair in pairs(archive) {
            let Some((message, _)) = pair.open() else { continue };
            let Some(text) = again(message, &pair.json) else { continue };
            canonical += usize::from(is_canonical(&pair.name, message, &text));
            for _ in 0..ROUNDS {
                let text = match random.below(2) {
                    0 => mutate(&text, b"", &mut random),
                    _ => scribbled(&text, &mut random),
                };
                changed += usize::from(is_canonical(&pair.name, message, &text));
            }
        }
    }
    assert!(canonical > 1_000 && changed > 3_000, "{canonical} {changed}");
}

/// Inserts or replaces JSON tokens at random positions.
fn scribbled(text: &[u8], random: &mut Random) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "0", "1", "-", ".", "e5", "null", "true", "false", "\"\"", "{}", "[]", "{", "}", "[", "]", ",", ":",
        " ", "\"", "\\", "\\n", "\\u003c", "\\u003C", "\\u0041", "\\u000a", "\\ufffd", "<", "\u{2028}", "é",
        "\\/", "\"a\":",
    ];
    let mut out = text.to_vec();
    let at = random.below(out.len());
    let end = (at + random.below(3) * random.below(8)).min(out.len());
    out.splice(at..end, PIECES[random.below(PIECES.len())].bytes());
    out
}

/// CRDs are large and stored as JSON, so they are tested with all possible members.
#[test]
fn encoded_crds_are_canonical() {
    let definition = builtin::kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    let texts = crate::testdata::files("crds");
    assert_eq!(texts.len(), 4);
    for (name, text) in texts {
        assert!(is_canonical(&name, definition, &again(definition, &text).unwrap()), "{name}");
    }
}

#[test]
fn any_difference_is_not_canonical() {
    let definition = builtin::kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    let object = |spec: &str, status: &str| {
        format!(
            r#"{{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z"}},"spec":{{"group":"g","names":{{"plural":"as","kind":"A"}},"scope":"Cluster","versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{spec}}}}}]}},"status":{status}}}"#
        )
    };
    let check = |expected: bool, spec: &str, status: &str| {
        let text = object(spec, status);
        assert_eq!(is_canonical(spec, definition, text.as_bytes()), expected, "{spec} {status}");
    };
    let none = r#"{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}"#;
    check(true, "{}", none);
    check(true, r#"{"description":"a \u003c\"b\"\\\n é","type":"object","maximum":1.5,"minimum":0}"#, none);
    check(
        true,
        r#"{"default":{"b":[1,"\u0041"],"a":null},"required":["b","a"],"items":{"type":"string"}}"#,
        none,
    );
    check(
        true,
        r#"{"properties":{"a":{},"b":{"additionalProperties":false}},"x-kubernetes-int-or-string":true}"#,
        none,
    );
    for changed in [
        r#"{"description":""}"#,
        r#"{"description":"<"}"#,
        r#"{"description":"\u003C"}"#,
        r#"{"description":"\u0041"}"#,
        r#"{"description":"\/"}"#,
        r#"{"description":"\u000a"}"#,
        "{\"description\":\"\u{2028}\"}",
        r#"{"type":"object","description":"order"}"#,
        r#"{"maximum":1.50}"#,
        r#"{"maximum":01}"#,
        r#"{"maximum":1e3}"#,
        r#"{"type": "object"}"#,
        r#"{"properties":{"b":{},"a":{}}}"#,
        r#"{"properties":{"a":{},"a":{}}}"#,
        r#"{"properties":{}}"#,
        r#"{"required":[]}"#,
        r#"{"required":null}"#,
        r#"{"unknown":1}"#,
        r#"{"default":{"a": 1}}"#,
        r#"{"default":{"a":"<"}}"#,
        r#"{"default":null}"#,
        r#"{"exclusiveMaximum":false}"#,
        r#"{"maxLength":1,"maxLength":1}"#,
    ] {
        check(false, changed, none);
    }
    check(false, "{}", r#"{"acceptedNames":{"plural":"","kind":""},"storedVersions":null}"#);
    let text = object("{}", none);
    let broken = text.replace("Cluster", "Clu\u{1}ster").into_bytes();
    let broken: Vec<u8> = broken.into_iter().map(|byte| if byte == 1 { 0xff } else { byte }).collect();
    assert!(!is_canonical("no UTF-8", definition, &broken));
    assert!(!is_canonical("end", definition, format!("{text} ").as_bytes()));
    assert!(!is_canonical("cut", definition, &text.as_bytes()[..text.len() - 1]));
}

#[test]
fn deep_nesting_does_not_overflow() {
    let schema = &builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS;
    let nested = |opening: &str, closing: &str, levels: usize| {
        [opening.repeat(levels), "{}".to_owned(), closing.repeat(levels)].concat()
    };
    assert!(is_canonical("few levels", schema, nested(r#"{"not":"#, "}", 50).as_bytes()));
    assert!(!is_canonical("many levels", schema, nested(r#"{"not":"#, "}", 100_000).as_bytes()));
    assert!(!is_canonical("a value", schema, nested(r#"{"default":["#, "]}", 100_000).as_bytes()));
    let deep = format!(r#"{{"default":{}}}"#, nested("[", "]", 9_000));
    assert!(is_canonical("a deep value", schema, deep.as_bytes()));
}
