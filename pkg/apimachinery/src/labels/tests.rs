//! Tests of label selectors: parsing, canonical text, errors and matching.
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use super::*;
use crate::field::Path;

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
    check("  ", Ok(""));
    check("x=a,y=b,z=c", Ok("x=a,y=b,z=c"));
    check("z=c , a == b\n", Ok("a==b,z=c"));
    check("x!=a, y", Ok("x!=a,y"));
    check("! x ,y", Ok("!x,y"));
    check("x in (c,a,b,a)", Ok("x in (a,b,c)"));
    check("x notin (a),x>1", Ok("x notin (a),x>1"));
    check(
        "x<-7",
        Err(
            "unable to parse requirement: values[0][x]: Invalid value: \"-7\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
    );
    check("x=", Ok("x="));
    check("x=,z= ", Ok("x=,z="));
    check("x= ,z in (a,,b)", Ok("x=,z in (,a,b)"));
    check("x in ()", Ok("x in ()"));
    check("x in (,)", Ok("x in ()"));
    check("x in (a,)", Ok("x in (,a)"));
    check("x in (,a)", Ok("x in (,a)"));
    check("in in (in, notin)", Ok("in in (in,notin)"));
    check("notin=in", Ok("notin=in"));
    check("example.com/a=b", Ok("example.com/a=b"));
    check("a=b\0,c=d", Ok("a=b,c=d"));
}

#[test]
fn errors_match_upstream() {
    check(",", Err("found ',', expected: !, identifier, or 'end of string'"));
    check("=a", Err("found '=', expected: !, identifier, or 'end of string'"));
    check("a,", Err("found '', expected: identifier after ','"));
    check("a,=", Err("found '=', expected: identifier after ','"));
    check("!", Err("unable to parse requirement: found '', expected: identifier"));
    check("!!a", Err("unable to parse requirement: found '!', expected: identifier"));
    check("a b", Err("unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"));
    check("a (", Err("unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"));
    check("!a=b", Err("found '=', expected: ',' or 'end of string'"));
    check("a===b", Err("unable to parse requirement: found '=', expected: identifier"));
    check("a=b c", Err("found 'c', expected: ',' or 'end of string'"));
    check("a=!b", Err("unable to parse requirement: found '!', expected: identifier"));
    check("a in b", Err("unable to parse requirement: found 'b' expected: '('"));
    check("a in", Err("unable to parse requirement: found '' expected: '('"));
    check("a in (", Err("unable to parse requirement: found '', expected: ',', ')' or identifier"));
    check("a in (b", Err("unable to parse requirement: found '', expected: ',' or ')'"));
    check("a in (b c", Err("unable to parse requirement: found 'c', expected: ',' or ')'"));
    check("a in (b,", Err("unable to parse requirement: found '', expected: ',', or identifier"));
    check("a in (b,=)", Err("unable to parse requirement: found '=', expected: ',', or identifier"));
    check(
        "a>b",
        Err(
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    );
    check(
        "a>",
        Err(
            "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    );
    check(
        "/a",
        Err("unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty"),
    );
}

#[test]
fn each_bad_value_is_reported_with_its_place() {
    let error = parse("a in (b~,c~)").unwrap_err().to_string();
    assert!(
        error.starts_with("unable to parse requirement: [values[0][a]: Invalid value: \"b~\": a valid label")
    );
    assert!(error.contains(", values[1][a]: Invalid value: \"c~\": a valid label"));
}

#[test]
fn a_requirement_checks_the_number_of_its_values() {
    let check = |operator, values: &[&str], expected: &str| {
        let values = values.iter().map(|v| (*v).to_owned()).collect();
        let path = Path::root("matchExpressions");
        let actual = Requirement::new("k".to_owned(), operator, values, &path.index(0));
        assert_eq!(actual.unwrap_err().to_string(), expected);
    };
    check(
        Operator::In,
        &[],
        "matchExpressions[0].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    );
    check(
        Operator::Equals,
        &["a", "b"],
        "matchExpressions[0].values: Invalid value: [\"a\",\"b\"]: exact-match compatibility requires one single value",
    );
    check(
        Operator::Exists,
        &["a"],
        "matchExpressions[0].values: Invalid value: [\"a\"]: values set must be empty for exists and does not exist",
    );
    check(
        Operator::GreaterThan,
        &[],
        "matchExpressions[0].values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required",
    );
}

fn check_match(selector: &str, labels: &[(&str, &str)], expected: bool) {
    let selector = parse(selector).unwrap();
    assert_eq!(selector.matches_pairs(labels.iter().copied()), expected, "{selector} {labels:?}");
}

#[test]
fn matching_follows_the_operators() {
    let labels = &[("a", "1"), ("b", ""), ("c", "x")];
    check_match("", labels, true);
    check_match("", &[], true);
    for (selector, expected) in [
        ("a=1", true),
        ("a==2", false),
        ("b=", true),
        ("d=", false),
        ("a!=1", false),
        ("d!=1", true),
        ("a in (1,2)", true),
        ("d in (1)", false),
        ("a notin (1,2)", false),
        ("d notin (1)", true),
        ("b", true),
        ("d", false),
        ("!b", false),
        ("!d", true),
        ("a>0", true),
        ("a>1", false),
        ("a<2", true),
        ("c>0", false),
        ("d<0", false),
        ("a=1,c=x", true),
        ("a=1,c=y", false),
    ] {
        check_match(selector, labels, expected);
    }
}

#[test]
fn the_nothing_selector_matches_nothing() {
    assert!(!Selector::nothing().matches(|_| Some("")));
    assert!(!Selector::nothing().is_empty());
    assert!(Selector::nothing().matches_nothing());
    assert!(Selector::everything().is_empty());
}

#[test]
fn exact_match_uses_first_requirement() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(parse(text).unwrap().requires_exact_match("k"), expected, "{text}");
    };
    check("k=v", Some("v"));
    check("k==v,a=b", Some("v"));
    check("k in (v)", Some("v"));
    check("k in (v,w)", None);
    check("k!=v", None);
    check("a=b", None);
    check("k,k=v", None);
}

#[test]
fn a_set_becomes_a_sorted_selector() {
    let selector = Selector::from_set([("b", "2"), ("a", "1")]);
    assert_eq!(selector.to_string(), "a=1,b=2");
    assert_eq!(selector.requirements().len(), 2);
}

#[test]
fn combined_requirements_match_like_single_ones() {
    let all = [
        "k=1",
        "k==2",
        "k in (1,2)",
        "k!=1",
        "k notin (2,x)",
        "k",
        "!k",
        "k>0",
        "k<2",
        "k>1",
        "j",
        "!j",
        "j!=1",
    ];
    for k in [None, Some("1"), Some("2"), Some("x"), Some("-5")] {
        for j in [None, Some("1")] {
            let labels: Vec<(&str, &str)> =
                [("k", k), ("j", j)].into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
            let value = |key: &str| labels.iter().find(|(other, _)| *other == key).map(|(_, value)| *value);
            let single = all.map(|text| holds(text, value));
            for chosen in 0_u32..1 << all.len() {
                let is_chosen = |at: &usize| chosen >> at & 1 == 1;
                let texts: Vec<&str> = (0..all.len()).filter(is_chosen).map(|at| all[at]).collect();
                let selector = parse(&texts.join(",")).unwrap();
                let expected = (0..all.len()).filter(is_chosen).all(|at| single[at]);
                assert_eq!(selector.matches_pairs(labels.iter().copied()), expected, "{selector} {labels:?}");
                assert_eq!(selector.matches(value), expected, "{selector} {labels:?}");
            }
        }
    }
}

/// Evaluates one requirement by its definition.
fn holds<'v>(text: &str, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
    let selector = parse(text).unwrap();
    let [requirement] = selector.requirements() else { unreachable!("{text}") };
    let value = lookup(requirement.key());
    let is_listed = value.is_some_and(|value| requirement.values().iter().any(|listed| listed == value));
    let number = |text: &str| text.parse::<i64>().ok();
    let order = || value.and_then(number).map(|value| value.cmp(&number(&requirement.values()[0]).unwrap()));
    match requirement.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => is_listed,
        Operator::NotEquals | Operator::NotIn => !is_listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::GreaterThan => order() == Some(Ordering::Greater),
        Operator::LessThan => order() == Some(Ordering::Less),
    }
}

#[test]
fn large_value_sets_match_in_any_order() {
    let ascending: Vec<String> = (0..1000).map(|number| format!("{:04}", 2 * number)).collect();
    let mut shuffled = ascending.clone();
    shuffled.sort_by_key(|value| value.bytes().rev().collect::<Vec<_>>());
    let new = |operator| Requirement::new("k".to_owned(), operator, shuffled.clone(), &Path::NIL).unwrap();
    let within = Selector::new(vec![new(Operator::In)]);
    let without = Selector::new(vec![new(Operator::NotIn)]);
    assert_eq!(within.requirements()[0].values(), shuffled);
    for number in 0..2001 {
        let label = format!("{number:04}");
        let expected = ascending.contains(&label);
        assert_eq!(within.matches_pairs([("k", &label)]), expected, "{label}");
        assert_eq!(without.matches_pairs([("k", &label)]), !expected, "{label}");
    }
}
