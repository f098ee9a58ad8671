//! Tests of field selectors: parsing, canonical text, errors and matching.
#![allow(clippy::unwrap_used)]

use super::*;

fn check(text: &str, expected: Result<&str, &str>) {
    let actual = parse(text).map(|selector| selector.to_string()).map_err(|e| e.to_string());
    assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
    if let Ok(canonical) = actual {
        assert_eq!(parse(&canonical).unwrap().to_string(), canonical);
    }
}

#[test]
fn selectors_print_in_canonical_form() {
    check("", Ok(""));
    check(",,", Ok(""));
    check("b=2,a=1", Ok("a=1,b=2"));
    check("a==1", Ok("a=1"));
    check("a!=1", Ok("a!=1"));
    check("a=", Ok("a="));
    check("=a", Ok("=a"));
    check("=,a=1,!=", Ok("a=1"));
    check("a=!b", Ok("a=!b"));
    check(r"a=x\,y\=\\", Ok(r"a=x\,y\=\\"));
    check(r"a=x\\,b=y", Ok(r"a=x\\,b=y"));
    check("a =b ", Ok("a =b "));
    check("a!b!=c", Ok("a!b!=c"));
}

#[test]
fn errors_match_upstream() {
    check("a", Err("invalid selector: 'a'; can't understand 'a'"));
    check("x=1,abc", Err("invalid selector: 'x=1,abc'; can't understand 'abc'"));
    check("a<1", Err("invalid selector: 'a<1'; can't understand 'a<1'"));
    check(r"a=\x", Err(r"invalid field selector: invalid escape sequence: \x"));
    check(r"a=\", Err(r"invalid field selector: invalid escape sequence: \"));
    check("a=b=c", Err("invalid field selector: unescaped character in value: 61"));
    check("a===b", Err("invalid field selector: unescaped character in value: 61"));
}

#[test]
fn comma_in_literal_is_a_distinct_error() {
    assert_eq!(
        unescape("a,b").unwrap_err().to_string(),
        "invalid field selector: unescaped character in value: 44"
    );
}

#[test]
fn missing_fields_match_as_empty() {
    let lookup = |field: &str| match field {
        "metadata.name" => Some("web"),
        "spec.nodeName" => Some(""),
        _ => None,
    };
    for (text, expected) in [
        ("", true),
        ("metadata.name=web", true),
        ("metadata.name!=web", false),
        ("metadata.name=db", false),
        ("spec.nodeName=", true),
        ("spec.nodeName!=", false),
        ("status.phase=", true),
        ("status.phase!=Running", true),
        ("metadata.name=web,spec.nodeName=n1", false),
    ] {
        assert_eq!(parse(text).unwrap().matches(lookup), expected, "{text}");
    }
}

#[test]
fn only_equality_requires_an_exact_match() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(parse(text).unwrap().requires_exact_match("f"), expected, "{text}");
    };
    check("f=v", Some("v"));
    check("a=b,f==v", Some("v"));
    check("f!=v", None);
    check("f!=v,f=w", Some("w"));
    check("", None);
}

#[test]
fn transform_renames_drops_or_rejects_terms() {
    let convert = |field: &str, value: &str| match field {
        "old" => Ok(("new".to_owned(), value.to_owned())),
        "drop" => Ok((String::new(), String::new())),
        other => Err(format!("field label not supported: {other}")),
    };
    let transform = |text: &str| parse(text).unwrap().transform(convert).map(|s| s.to_string());
    assert_eq!(transform("old=1,drop=2,old!=3"), Ok("new!=3,new=1".to_owned()));
    assert_eq!(transform("x=1"), Err("field label not supported: x".to_owned()));
}

#[test]
fn a_selector_can_be_made_of_one_term() {
    let selector = Selector::equals("metadata.name", "a,b");
    assert_eq!(selector.to_string(), r"metadata.name=a\,b");
    assert!(!selector.is_empty());
    assert_eq!(selector.requirements().len(), 1);
    assert!(Selector::everything().is_empty());
}
