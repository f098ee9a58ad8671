//! Reading and writing of YAML. All expectations are the results of upstream's library.

#![allow(clippy::unwrap_used)]

use super::*;

fn check(yaml: &str, expected: Result<&str, &str>) {
    let converted = to_json(yaml.as_bytes());
    let converted = converted.map(|y| String::from_utf8(y.json).unwrap()).map_err(|error| error.to_string());
    assert_eq!(converted, expected.map(str::to_owned).map_err(str::to_owned), "{yaml:?}");
}

fn check_duplicates(yaml: &str, expected: &[&str]) {
    assert_eq!(to_json(yaml.as_bytes()).unwrap().duplicates, expected, "{yaml:?}");
}

fn check_written(json: &str, expected: &str) {
    let mut out = Vec::new();
    from_json(json.as_bytes(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected, "{json}");
    let back = to_json(expected.as_bytes()).unwrap().json;
    let value = |text: &[u8]| serde_json::from_slice::<jsontree::Value>(text).unwrap();
    assert_eq!(value(&back), value(json.as_bytes()), "{expected} reads back");
}

#[test]
fn only_the_first_document_is_read() {
    check("", Ok("null"));
    check("# only\n", Ok("null"));
    check("metadata:\n  name: y2\n---\nmetadata:\n  name: y3\n", Ok(r#"{"metadata":{"name":"y2"}}"#));
    check("---\na: b\n", Ok(r#"{"a":"b"}"#));
    check("%YAML 1.1\n---\na: b\n", Ok(r#"{"a":"b"}"#));
    check("a: b\r\nc: d\r\n", Ok(r#"{"a":"b","c":"d"}"#));
    check(r#"{"b":[1,null,{"a":"x"}]}"#, Ok(r#"{"b":[1,null,{"a":"x"}]}"#));
}

#[test]
fn version_must_be_1_1() {
    let parsed = Ok(r#"{"a":1}"#);
    fn after(directives: &str, expected: Result<&str, &str>) {
        check(&format!("{directives}\n---\na: 1\n"), expected);
    }
    after("%YAML 1.1", parsed);
    after("%YAML  1.01 # the only one", parsed);
    after("%TAG ! tag:x,2000:", parsed);
    after("\u{feff}# before\n\n%YAML 1.1", parsed);
    for (directives, error) in [
        ("%YAML 1.2", "found incompatible YAML document"),
        ("%YAML 1.0", "found incompatible YAML document"),
        ("\u{feff}%YAML 2.0", "found incompatible YAML document"),
        ("# before\n%YAML 1.2", "line 1: found incompatible YAML document"),
        ("%YAML 1.1\n%YAML 1.1", "line 1: found duplicate %YAML directive"),
        ("%YAML", "did not find expected version number"),
        ("%YAML 1", "did not find expected digit or '.' character"),
        ("%YAML 1.123", "found extremely long version number"),
        ("%YAML 1.1 x", "did not find expected comment or line break"),
        ("%FOO x", "found unknown directive name"),
    ] {
        after(directives, Err(&format!("yaml: {error}")));
    }
    assert_eq!(to_json(b"a: 1\n...\n%YAML 1.2\n---\nb: 1\n").unwrap().json, br#"{"a":1}"#);
}

#[test]
fn byte_order_mark_selects_utf_16() {
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let text = "a: \u{e9}\u{1f600}\n";
    for bytes in [utf16(text, u16::to_le_bytes), utf16(text, u16::to_be_bytes)] {
        assert_eq!(to_json(&bytes).unwrap().json, "{\"a\":\"\u{e9}\u{1f600}\"}".as_bytes());
    }
    assert_eq!(to_json(b"\xff\xfe").unwrap().json, b"null");
    for (bytes, error) in [
        (&b"\xff\xfea\0:"[..], "incomplete UTF-16 character"),
        (b"\xfe\xff\xd8\0", "incomplete UTF-16 surrogate pair"),
        (b"\xff\xfe\0\xd8a\0", "expected low surrogate area"),
        (b"\xff\xfe\0\xdc", "unexpected low surrogate area"),
        (b"\xff\xfe\x01\0", "control characters are not allowed"),
        (b"a\0:\0", "control characters are not allowed"),
        (b"\xff", "invalid leading UTF-8 octet"),
    ] {
        assert_eq!(to_json(bytes).unwrap_err().to_string(), format!("yaml: {error}"));
    }
}

#[test]
fn alias_expansion_size_is_bounded() {
    // Few nodes, which upstream counts, but each a long one.
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a,".repeat(90));
    check(&text, Err("yaml: document contains excessive aliasing"));
    let document = format!("a: &a {}\nb: [*a,*a]\n", "x".repeat(100_000));
    assert!(to_json(document.as_bytes()).is_ok());
    // An error that quotes a key of 9^9 nodes.
    let laughs: String =
        (1..10).map(|i| format!("l{i}: &l{i} [{}]\n", format!("*l{},", i - 1).repeat(9))).collect();
    let error = to_json(format!("l0: &l0 x\n{laughs}? [*l9]\n: 1\n").as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("yaml: ") && error.len() < 4 << 20, "{} bytes", error.len());
}

#[test]
fn plain_scalars_follow_yaml_1_1() {
    for (plain, json) in [
        ("yes", "true"),
        ("Off", "false"),
        ("y", "true"),
        ("~", "null"),
        ("", "null"),
        ("Null", "null"),
        ("0644", "420"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("0b11", "3"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("08", "8"),
        ("18446744073709551615", "18446744073709551615"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1e400", r#""1e400""#),
        ("0x", r#""0x""#),
        ("1:30", r#""1:30""#),
        ("2001-01-01", r#""2001-01-01""#),
        ("<<", r#""\u003c\u003c""#),
        ("'5'", r#""5""#),
        (r#""\x41\u00e9\n""#, "\"A\u{e9}\\n\""),
        ("it's", r#""it's""#),
    ] {
        check(&format!("- {plain}\n"), Ok(&format!("[{json}]")));
    }
    check("- .inf\n", Err("json: unsupported value: +Inf"));
}

#[test]
fn tags_override_the_meaning() {
    check(
        "[!!str 5, !!int '7', !!float 5, !!binary YQ==, !foo bar, ! 5]\n",
        Ok(r#"["5",7,5,"a","bar","5"]"#),
    );
    check("!!bool 5\n", Err("yaml: cannot decode !!int `5` as a !!bool"));
    check("!!int x\n", Err("yaml: cannot decode !!str `x` as a !!int"));
    check("!!binary '*'\n", Err("yaml: !!binary value contains invalid base64 data"));
}

#[test]
fn block_scalars_fold_and_chomp() {
    check(
        "a: |\n  b\n   c\nd: >-\n  e\n  f\n\n  g\nh: |+\n  i\n\n",
        Ok(r#"{"a":"b\n c\n","d":"e f\ng","h":"i\n\n"}"#),
    );
}

#[test]
fn keys_become_strings_in_order() {
    check(
        "b: 1\na: 2\n5: 3\ntrue: 4\n1.5: 6\n2001-01-01: 7\n",
        Ok(r#"{"1.5":6,"2001-01-01":7,"5":3,"a":2,"b":1,"true":4}"#),
    );
    check("~: x\n", Err(r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "x""#));
    check(
        "{{ .Values.x }}: y\n",
        Err(r#"yaml: invalid map key: map[interface {}]interface {}{".Values.x":interface {}(nil)}"#),
    );
    check("? [a, 1]\n: b\n", Err(r#"yaml: invalid map key: []interface {}{"a", 1}"#));
}

#[test]
fn aliases_and_merges_expand() {
    check("a: &x {b: c}\nd: *x\n", Ok(r#"{"a":{"b":"c"},"d":{"b":"c"}}"#));
    check(
        "a: &x {b: c, e: f}\nd:\n  <<: *x\n  b: g\n",
        Ok(r#"{"a":{"b":"c","e":"f"},"d":{"b":"g","e":"f"}}"#),
    );
    check("b: g\n<<: {b: c}\n", Ok(r#"{"b":"c"}"#));
    check("<<: [{a: 1}, {a: 2, b: 3}]\n", Ok(r#"{"a":1,"b":3}"#));
    check("<<: x\n", Err("yaml: map merge requires map or sequence of maps as the value"));
    check("a: *nope\n", Err("yaml: unknown anchor 'nope' referenced"));
    check("a: &a [*a]\n", Err("yaml: anchor 'a' value contains itself"));
}

#[test]
fn expansion_is_bounded() {
    let excessive = Err("yaml: document contains excessive aliasing");
    let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..8 {
        let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
    }
    check(&bomb, excessive);
    let large = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 200].join(", "));
    check(&large, excessive);
    let deep = "[".repeat(20_000);
    check(&format!("a: b\nc: {deep}"), Err("yaml: line 2: exceeded max depth of 10000"));
    let first = Err("yaml: exceeded max depth of 10000");
    check(&"- ".repeat(20_000), first);
    check(&"[".repeat(400_000), first);
    check(&format!("c:\n{}", "- ".repeat(20_000)), Err("yaml: line 2: exceeded max depth of 10000"));
}

#[test]
fn tokens_within_brackets_are_bounded() {
    let refused = |text: String| {
        let error = to_json(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::BudgetExceeded(BudgetExceeded)), "{error} for {}", &text[..20]);
    };
    for piece in ["a: {}, ", "'', ", "&a ", "*a ", "!a ", "? ", ", ", "[], ", ": "] {
        refused(format!("[{}", piece.repeat(400_000)));
    }
    // For long texts and for closed brackets, no tokens are kept.
    let texts =
        format!("a: |\n  {}\nb: \"{}\"\n", "{'a': [1, 2]}, ".repeat(100_000), "[{,:- ".repeat(100_000));
    assert!(to_json(texts.as_bytes()).is_ok());
    assert!(to_json("- [a, {b: c}]\n".repeat(10_000).as_bytes()).is_ok());
}

#[test]
fn duplicate_keys_report_the_values_line() {
    check_duplicates("data:\n  k: '1'\n  k: '2'\n", &[r#"line 3: key "k" already set in map"#]);
    check_duplicates(
        "- 5: a\n  5: b\n- {x: 1, x: 2}\n",
        &["line 2: key 5 already set in map", r#"line 3: key "x" already set in map"#],
    );
    check_duplicates("5: a\n'5': b\n", &[]);
    check_duplicates("<<: {a: b}\na: c\n", &[r#"line 2: key "a" already set in map"#]);
    let yaml = to_json(b"a: 1\na: 2\na: 3\n").unwrap();
    assert_eq!(
        yaml.strict_error().unwrap().to_string(),
        "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map\n  line 3: key \"a\" already set in map"
    );
    assert!(to_json(b"a: 1\n").unwrap().strict_error().is_none());
}

#[test]
fn syntax_errors_match_upstream() {
    for (yaml, error) in [
        ("metadata:\n\tname: y1\n", "line 2: found character that cannot start any token"),
        ("kind: x\n\tname: y\n", "line 2: found a tab character that violates indentation"),
        ("a: [1\nb", "line 2: did not find expected ',' or ']'"),
        ("a: b\n- c\n", "line 1: did not find expected key"),
        ("- a\nb: c\n", "line 1: did not find expected '-' indicator"),
        ("a: b\nc\n", "line 3: could not find expected ':'"),
        ("a: \"x\n", "line 2: found unexpected end of stream"),
        ("a: b: c\n", "mapping values are not allowed in this context"),
        ("a: @b\n", "found character that cannot start any token"),
        ("\na: }\n", "line 1: did not find expected node content"),
        ("a: - b\n", "block sequence entries are not allowed in this context"),
    ] {
        check(yaml, Err(&format!("yaml: {error}")));
    }
}

#[test]
fn invalid_text_is_rejected() {
    check("a: \u{1}\n", Err("yaml: control characters are not allowed"));
    let error = to_json(b"a: \xff\n").unwrap_err();
    assert_eq!(error.to_string(), "yaml: invalid leading UTF-8 octet");
}

#[test]
fn collections_have_upstream_layout() {
    check_written(
        r#"{"spec":{"list":[{"b":1,"a":[]},["x",["y"]],{}],"empty":{}},"kind":"X"}"#,
        "kind: X\nspec:\n  empty: {}\n  list:\n  - a: []\n    b: 1\n  - - x\n    - - \"y\"\n  - {}\n",
    );
    check_written("[]", "[]\n");
    check_written("\"\"", "\"\"\n");
    check_written(
        r#"{"a10":1,"a9":2,"B":3,"_":4,"a.b":5,"ab":6}"#,
        "_: 4\nB: 3\na.b: 5\na9: 2\na10: 1\nab: 6\n",
    );
    let long_key = "k".repeat(129);
    check_written(&format!(r#"{{"{long_key}":[1]}}"#), &format!("? {long_key}\n: - 1\n"));
}

#[test]
fn ambiguous_strings_are_quoted() {
    for (json, yaml) in [
        (r#""""#, r#""""#),
        (r#""true""#, r#""true""#),
        (r#""n""#, r#""n""#),
        (r#""1""#, r#""1""#),
        (r#""1:30""#, r#""1:30""#),
        (r#""2024-01-02T03:04:05Z""#, r#""2024-01-02T03:04:05Z""#),
        (r#""2024-13-01""#, "2024-13-01"),
        (r#""a: b""#, "'a: b'"),
        (r#""a:b""#, "a:b"),
        (r##""# x""##, "'# x'"),
        (r#""a #b""#, "'a #b'"),
        (r#""-""#, "'-'"),
        (r#""-a""#, "-a"),
        (r#"" x ""#, "' x '"),
        (r#""'\"""#, r#"'''"'"#),
        (r#""<<""#, "<<"),
        ("\"\u{e4}\"", "\u{e4}"),
        (r#""\ud83d\ude00""#, r#""\U0001F600""#),
        (r#""a\tb\u0007""#, r#""a\tb\a""#),
        (r#""a\nb""#, "|-\n  a\n  b"),
        (r#""a\n""#, "|\n  a"),
        (r#""a\n\n""#, "|+\n  a\n"),
        (r#""\na""#, "|2-\n\n  a"),
        (r#""a \nb""#, r#""a \nb""#),
    ] {
        check_written(json, &format!("{yaml}\n"));
    }
    check_written(r#"{"a\nb":"1","yes":null}"#, "? |-\n  a\n  b\n: \"1\"\n\"yes\": null\n");
}

#[test]
fn numbers_are_formatted_like_the_library() {
    for (json, yaml) in [
        ("-0", "0"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1234567.5", "1.2345675e+06"),
        ("0.00001", "1e-05"),
        ("18446744073709551615", "18446744073709551615"),
    ] {
        let mut out = Vec::new();
        from_json(json.as_bytes(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{yaml}\n"));
    }
}

#[test]
fn long_lines_fold_at_space_beyond_width() {
    check_written(
        r#"{"message":"Invalid value: \"B_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"}"#,
        "message: 'Invalid value: \"B_\": a lowercase RFC 1123 subdomain must consist of lower\n  case alphanumeric characters, ''-'' or ''.'', and must start and end with an alphanumeric\n  character'\n",
    );
}

#[test]
fn escaped_slash_is_rejected() {
    let refused = |text: &str| to_json(text.as_bytes()).map(drop).map_err(|error| error.to_string());
    assert_eq!(refused("\"\\/\""), Err("yaml: found unknown escape character".to_owned()));
    assert_eq!(
        refused("a: é\nb: ok\nc: [\"/\", \"x\\\\\\/\"]"),
        Err("yaml: line 3: found unknown escape character".to_owned())
    );
    assert_eq!(refused("a: '\\/'\nb: \"\\\\/\"\nc: \\/"), Ok(()));
    assert_eq!(
        refused("a: 1\nb: \"\\ud800\""),
        Err("yaml: line 2: found invalid Unicode character escape code".to_owned())
    );
}
