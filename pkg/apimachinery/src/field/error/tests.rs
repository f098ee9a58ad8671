//! Tests of the texts and cause types of field errors.

use super::*;
use jsontree::json;

const PATH: Path<'_> = Path::root("spec.x");

fn check(error: Error, reason: &str, text: &str) {
    assert_eq!(error.to_string(), text);
    assert_eq!((error.reason(), error.field()), (reason, "spec.x"));
    assert_eq!(format!("spec.x: {}", error.body()), text);
}

#[test]
fn each_kind_has_reason_and_text() {
    check(Error::required(&PATH, ""), "FieldValueRequired", "spec.x: Required value");
    check(
        Error::required(&PATH, "name or generateName is required"),
        "FieldValueRequired",
        "spec.x: Required value: name or generateName is required",
    );
    check(Error::duplicate(&PATH, "a"), "FieldValueDuplicate", r#"spec.x: Duplicate value: "a""#);
    check(Error::not_found(&PATH, "v"), "FieldValueNotFound", r#"spec.x: Not found: "v""#);
    check(Error::forbidden(&PATH, "no"), "FieldValueForbidden", "spec.x: Forbidden: no");
    check(Error::internal(&PATH, "broken"), "InternalError", "spec.x: Internal error: broken");
    check(
        Error::type_invalid(&PATH, "integer", "must be of type string"),
        "FieldValueTypeInvalid",
        r#"spec.x: Invalid value: "integer": must be of type string"#,
    );
    check(
        Error::not_supported(&PATH, "Maybe", &["Always", "Never"]),
        "FieldValueNotSupported",
        r#"spec.x: Unsupported value: "Maybe": supported values: "Always", "Never""#,
    );
    check(
        Error::not_supported::<&str>(&PATH, "Maybe", &[]),
        "FieldValueNotSupported",
        r#"spec.x: Unsupported value: "Maybe""#,
    );
}

#[test]
fn limits_name_their_unit_in_singular_and_plural() {
    let long = "FieldValueTooLong";
    check(Error::too_long(&PATH, Some(63)), long, "spec.x: Too long: may not be more than 63 bytes");
    check(Error::too_long(&PATH, Some(1)), long, "spec.x: Too long: may not be more than 1 byte");
    check(Error::too_long(&PATH, None), long, "spec.x: Too long: value is too long");
    check(
        Error::too_long_characters(&PATH, Some(2)),
        long,
        "spec.x: Too long: may not be more than 2 characters",
    );
    check(
        Error::too_short(&PATH, Some(1)),
        "FieldValueTooShort",
        "spec.x: Too short: must be at least 1 character",
    );
    check(
        Error::too_many(&PATH, Some(9), Some(8)),
        "FieldValueTooMany",
        "spec.x: Too many: 9: must have at most 8 items",
    );
    check(Error::too_many(&PATH, None, None), "FieldValueTooMany", "spec.x: Too many: has too many items");
    check(
        Error::too_few(&PATH, 0, Some(1)),
        "FieldValueTooFew",
        "spec.x: Too few: 0: must have at least 1 item",
    );
}

fn check_value(value: impl Into<BadValue>, printed: &str) {
    let expected = format!("Invalid value: {printed}: d");
    assert_eq!(Error::invalid(&PATH, value, "d").body(), expected);
}

#[test]
fn bad_values_print_like_go() {
    check_value("a\"\u{7f}", r#""a\"\x7f""#);
    check_value(-5_i64, "-5");
    check_value(true, "true");
    check_value(1.5, "1.5");
    check_value(999_999.5, "999999.5");
    check_value(1_234_567.5, "1.2345675e+06");
    check_value(-1e21, "-1e+21");
    check_value(1.5e-7, "1.5e-07");
    check_value(f64::INFINITY, "+Inf");
    check_value(&json!(null), "null");
    check_value(&json!("x"), r#""x""#);
    check_value(&json!({"b": ["<&>"], "a": 1}), r#"{"a":1,"b":["\u003c\u0026\u003e"]}"#);
    assert_eq!(Error::invalid(&PATH, BadValue::Omitted, "d").body(), "Invalid value: d");
}

#[test]
fn an_aggregate_prints_each_text_once() {
    let a = Error::required(&PATH, "");
    let b = Error::forbidden(&PATH, "no");
    assert_eq!(aggregate(&[]), None);
    assert_eq!(aggregate(&[a.clone(), a.clone()]), Some("spec.x: Required value".to_owned()));
    assert_eq!(
        aggregate(&[a.clone(), b, a]),
        Some("[spec.x: Required value, spec.x: Forbidden: no]".to_owned())
    );
}

#[test]
fn a_detail_can_be_prefixed() {
    let error = Error::invalid(&PATH, 1, "b").with_detail_prefix("a: ");
    assert_eq!(error.detail(), "a: b");
    assert_eq!(error.kind(), ErrorType::Invalid);
}
