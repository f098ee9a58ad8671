//! Sets compared with the laws of set algebra, and with results of upstream's sets for the same inputs
//! (`testdata/structured_merge/sets.jsonl.gz`, made with structured-merge-diff v6.3.2).

use std::io::Read;

use compact_str::CompactString;
use jsontree::{Value, json};

use super::*;

fn parse(text: &str) -> Set {
    Set::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn text(set: &Set) -> String {
    let mut out = Vec::new();
    set.write(&mut out);
    String::from_utf8(out).unwrap()
}

/// Small pseudo-random numbers from a seed.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn element(&mut self) -> PathElement {
        let scalar = |n| match n {
            0 => json!("a"),
            1 => json!(2),
            2 => json!(2.0),
            3 => json!(true),
            4 => json!(null),
            _ => json!([1, "x"]),
        };
        match self.below(8) {
            0..4 => PathElement::field(["a", "b", "c", "<d>"][self.below(4) as usize]),
            4 => PathElement::Value(scalar(self.below(6))),
            5 => PathElement::Index(self.below(3) as i64),
            _ => PathElement::key(vec![
                (CompactString::new("name"), scalar(self.below(5))),
                (CompactString::new("id"), scalar(self.below(5))),
            ]),
        }
    }

    fn set(&mut self) -> Set {
        let mut set = Set::new();
        for _ in 0..self.below(12) {
            let path: Vec<_> = (0..=self.below(3)).map(|_| self.element()).collect();
            set.insert(&path);
        }
        set
    }
}

fn paths(set: &Set) -> Vec<Vec<PathElement>> {
    let mut paths = Vec::new();
    set.for_each(|path| paths.push(path.to_vec()));
    paths
}

#[test]
fn sets_match_upstream() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/structured_merge/sets.jsonl.gz");
    let mut lines = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut lines).unwrap();
    let mut count = 0;
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let expected = |name: &str| case[name].as_str().unwrap();
        let a = parse(expected("a"));
        let b = parse(expected("b"));
        let check = |name: &str, set: Set| assert_eq!(text(&set), expected(name), "{name} of {line}");
        check("a", a.clone());
        check("b", b.clone());
        check("union", a.union(&b));
        check("intersection", a.intersection(&b));
        check("difference", a.clone().difference(&b));
        check("recursive_difference", a.clone().recursive_difference(&b));
        check("leaves", a.clone().leaves());
        assert_eq!(a.to_string(), expected("text"));
        assert_eq!(Some(a.len() as u64), case["len"].as_u64());
        count += 1;
    }
    assert_eq!(count, 100);
}

#[test]
fn sets_obey_the_laws_of_sets() {
    let mut random = Lcg(7);
    for _ in 0..500 {
        let a = random.set();
        let b = random.set();
        let c = random.set();
        assert_eq!(a.union(&b), b.union(&a));
        assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        assert_eq!(a.intersection(&b), b.intersection(&a));
        assert_eq!(a.union(&a), a);
        assert_eq!(a.intersection(&a), a);
        assert_eq!(a.clone().difference(&a), Set::new());
        assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        assert_eq!(a.clone().difference(&b).union(&a.intersection(&b)), a);
        assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        assert_eq!(a.is_subset(&b), a.clone().difference(&b).is_empty());
        assert!(a.intersection(&b).is_subset(&a) && a.is_subset(&a.union(&b)));
        assert_eq!(a.leaves_are_subset(&b), a.clone().leaves().is_subset(&b.clone().leaves()));
        assert!(a.leaves_are_subset(&a));
        assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
        let mut united = a.clone();
        united.unite(b.clone());
        assert_eq!(united, a.union(&b));
        assert_eq!(Set::union_of(vec![a.clone(), b.clone(), c.clone()]), united.union(&c));
    }
}

#[test]
fn differences_remove_exactly_the_common_paths() {
    let mut random = Lcg(8);
    for _ in 0..500 {
        let a = random.set();
        let b = random.set();
        let plain = a.clone().difference(&b);
        let recursive = a.clone().recursive_difference(&b);
        for path in paths(&a) {
            let covered = (1..=path.len()).any(|len| b.has(&path[..len]));
            assert_eq!(plain.has(&path), !b.has(&path));
            assert_eq!(recursive.has(&path), !covered);
        }
        assert!(paths(&plain).iter().chain(&paths(&recursive)).all(|path| a.has(path)));
    }
}

#[test]
fn insertion_order_does_not_matter() {
    let mut random = Lcg(9);
    for _ in 0..200 {
        let set = random.set();
        let mut paths = paths(&set);
        assert_eq!(set.len(), paths.len());
        paths.reverse();
        assert_eq!(Set::of(paths.iter().map(Vec::as_slice)), set);
    }
}

#[test]
fn leaves_are_not_prefixes() {
    let mut random = Lcg(10);
    for _ in 0..200 {
        let set = random.set();
        let all = paths(&set);
        let leaf =
            |path: &Vec<_>| !all.iter().any(|other| other.len() > path.len() && other.starts_with(path));
        let leaves: Vec<_> = all.iter().filter(|path| leaf(path)).map(Vec::as_slice).collect();
        assert_eq!(set.clone().leaves(), Set::of(leaves));
    }
}

#[test]
fn pushing_bottom_up_builds_the_same_set() {
    let mut random = Lcg(11);
    fn rebuild(set: &Set) -> Set {
        let mut out = Set::new();
        for node in set.nodes() {
            out.push(node.element.clone(), node.member, rebuild(&node.children));
        }
        out
    }
    for _ in 0..100 {
        let set = random.set();
        assert_eq!(rebuild(&set), set);
    }
    let mut set = Set::new();
    set.push(PathElement::field("a"), false, Set::new());
    assert!(set.is_empty(), "a step that is no member and leads nowhere is not kept");
    let below = |name: &str| Set::of([&[PathElement::field(name)][..]]);
    set.push(PathElement::field("b"), true, below("x"));
    set.push(PathElement::field("a"), true, Set::new());
    set.push(PathElement::field("b"), false, below("y"));
    assert_eq!(set, parse(r#"{"f:a":{},"f:b":{".":{},"f:x":{},"f:y":{}}}"#));
}

#[test]
fn text_round_trips() {
    let mut random = Lcg(12);
    for _ in 0..300 {
        let set = random.set();
        assert_eq!(parse(&text(&set)), set);
    }
}

#[test]
fn unusual_texts_parse_like_upstream() {
    fn check(input: &str, expected: &str) {
        assert_eq!(text(&parse(input)), expected, "{input}");
    }
    check("{}", "{}");
    check("null", "{}");
    check(r#"{".":{}}"#, "{}");
    check(r#"{".":5,"f:a":{}}"#, r#"{"f:a":{}}"#);
    check(r#"{"f:a":null}"#, r#"{"f:a":{}}"#);
    check(r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#);
    // Unknown kinds of steps.
    check(r#"{"x:a":{"f:b":{}}}"#, "{}");
    check(r#"{"f:a":{"x:b":{}}}"#, r#"{"f:a":{}}"#);
    // Duplicates and unsorted members.
    check(r#"{"f:b":{},"f:a":{}}"#, r#"{"f:a":{},"f:b":{}}"#);
    check(r#"{"f:a":{"f:x":{}},"f:a":{"f:y":{}}}"#, r#"{"f:a":{"f:y":{}}}"#);
    check(r#"{"f:a":{"f:x":{}},"f:a":{}}"#, r#"{"f:a":{".":{},"f:x":{}}}"#);
    check(r#"{"f:b":{"f:x":{}},"f:a":{},"f:b":{".":{},"f:y":{}}}"#, r#"{"f:a":{},"f:b":{".":{},"f:y":{}}}"#);
    check(r#"{"i:1":{},"v:1":{},"k:{}":{},"f:z":{}}"#, r#"{"f:z":{},"k:{}":{},"v:1":{},"i:1":{}}"#);
    check(r#"{"k:{\"b\":1,\"a\":2}":{}}"#, r#"{"k:{\"a\":2,\"b\":1}":{}}"#);
    check(r#"{"k:null":{}}"#, r#"{"k:{}":{}}"#);
    // White space may follow, both the text and a value within a name.
    check("{\"f:a\":{}} \n", r#"{"f:a":{}}"#);
    check(r#"{"v:1 ":{}}"#, r#"{"v:1":{}}"#);
    check(r#"{"i:+5":{}}"#, r#"{"i:5":{}}"#);
    // Numbers are doubles, formatted like Go.
    check(r#"{"v:9007199254740993":{}}"#, r#"{"v:9007199254740992":{}}"#);
    check(r#"{"v:-0":{}}"#, r#"{"v:-0":{}}"#);
    check(r#"{"v:0.00000012":{}}"#, r#"{"v:1.2e-07":{}}"#);
    check(r#"{"v:1e22":{}}"#, r#"{"v:1e+22":{}}"#);
    check(r#"{"f:\u00e9\ud83d\ude00\ud800":{}}"#, "{\"f:é😀\u{fffd}\":{}}");
}

#[test]
fn invalid_texts_are_rejected() {
    fn check(input: &str, expected: &str) {
        assert_eq!(Set::parse(input.as_bytes()).unwrap_err().to_string(), expected, "{input}");
    }
    check("", "unexpected end of JSON input");
    check("[]", "expect { or n, but found [");
    check(r#"{"f:a":{}} x"#, "invalid character 'x' after top-level value");
    check(r#"{"f:a":{}}{"#, "invalid character '{' after top-level value");
    check(r#"{"v:1 x":{}}"#, "parsing key as path element: invalid character 'x' after top-level value");
    check(
        r#"{"k:{\"a\":1}}":{}}"#,
        "parsing key as path element: invalid character '}' after top-level value",
    );
    check(r#"{"f:a":5}"#, "expect { or n, but found 5");
    check(r#"{"f":{}}"#, "parsing key as path element: key must be 2 characters long:");
    check(r#"{"fa":{}}"#, "parsing key as path element: missing colon: fa");
    check(r#"{"i:x":{}}"#, r#"parsing key as path element: strconv.Atoi: parsing "x": invalid syntax"#);
    check(r#"{"k:[]":{}}"#, "parsing key as path element: expect { or n, but found [");
    check(r#"{"v:":{}}"#, "parsing key as path element: unexpected end of JSON input");
    check(r#"{"f:a":{}"#, "unexpected end of JSON input");
}

#[test]
fn deep_texts_are_rejected() {
    let deep = |levels: usize| [r#"{"f:a":"#.repeat(levels), "{}".to_owned(), "}".repeat(levels)].concat();
    assert_eq!(parse(&deep(300)).len(), 1);
    assert!(Set::parse(deep(100_000).as_bytes()).is_err());
    let value = format!(r#"{{"v:{}1{}":{{}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    assert!(Set::parse(value.as_bytes()).is_err());
}

#[test]
fn elements_display_like_upstream() {
    fn check(element: PathElement, expected: &str) {
        assert_eq!(element.to_string(), expected);
    }
    let key = |fields: &[(&str, Value)]| {
        PathElement::key(
            fields.iter().map(|(name, value)| (CompactString::new(name), value.clone())).collect(),
        )
    };
    check(PathElement::field("a.b"), ".a.b");
    check(key(&[("protocol", json!("TCP")), ("port", json!(80))]), r#"[port=80,protocol="TCP"]"#);
    check(PathElement::Value(json!("q\"x\u{200b}")), r#"[="q\"x\u200b"]"#);
    check(PathElement::Value(json!([1.5, null, {"a": true, "b": 1}])), "[=[1.5,null,a=trueb=1]]");
    check(PathElement::Value(json!(999_999.0)), "[=999999]");
    check(PathElement::Value(json!(1_000_000.0)), "[=1e+06]");
    check(PathElement::Value(json!(1_000_000)), "[=1000000]");
    check(PathElement::Value(json!(0.00001)), "[=1e-05]");
    check(PathElement::Index(-1), "[-1]");
}

#[test]
fn elements_sort_by_kind_then_content() {
    let value = PathElement::Value;
    let ascending = [
        PathElement::field("a"),
        PathElement::field("b"),
        PathElement::key(vec![]),
        PathElement::key(vec![(CompactString::new("a"), json!(1))]),
        PathElement::key(vec![(CompactString::new("a"), json!("x"))]),
        PathElement::key(vec![(CompactString::new("b"), json!(0))]),
        value(json!(-1.5)),
        value(json!(2)),
        value(json!("")),
        value(json!("a")),
        value(json!(false)),
        value(json!(true)),
        value(json!([])),
        value(json!([1])),
        value(json!({})),
        value(json!({"a": 1})),
        value(json!({"a": 2})),
        value(json!({"b": 1})),
        value(json!(null)),
        PathElement::Index(0),
        PathElement::Index(1),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
        }
    }
    assert_eq!(value(json!(1)), value(json!(1.0)));
}
