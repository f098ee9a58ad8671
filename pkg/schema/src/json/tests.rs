//! Decoded trees and decoding errors.

#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};

use super::seen_members::MEMBERS_MAX;
use super::*;
use crate::builtin;
use crate::table::Message;

fn message(kind: &str) -> &'static Message {
    let api_version = match kind {
        "Deployment" | "ControllerRevision" => "apps/v1",
        "Lease" => "coordination.k8s.io/v1",
        "Role" => "rbac.authorization.k8s.io/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "CertificateSigningRequest" => "certificates.k8s.io/v1",
        _ => "v1",
    };
    builtin::kind(api_version, kind).unwrap()
}

fn check(kind: &str, text: &str, expected: Result<Value, &str>) {
    let decoded = decode(message(kind), text.as_bytes());
    let decoded = decoded.map(|d| Value::Object(d.object)).map_err(|error| error.to_string());
    assert_eq!(decoded, expected.map_err(str::to_owned), "{text}");
}

fn check_strict(kind: &str, text: &str, expected: &[&str]) {
    let strict = decode(message(kind), text.as_bytes()).unwrap().strict;
    let strict: Vec<String> = strict.iter().map(ToString::to_string).collect();
    assert_eq!(strict, expected, "{text}");
}

fn check_syntax(text: &str, expected: &str) {
    let error = decode(message("Pod"), text.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), expected, "{text}");
    assert!(error.is_syntax());
    assert_eq!(decode_untyped(text.as_bytes()).unwrap_err(), error, "{text}");
    assert_eq!(type_meta(text.as_bytes()).unwrap_err(), Error::TypeMeta(Box::new(error)), "{text}");
}

#[test]
fn objects_become_trees() {
    check("Pod", "{}", Ok(json!({})));
    check("Pod", " null ", Ok(json!({})));
    check(
        "Pod",
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a"}],"hostNetwork":false}}"#,
        Ok(json!({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a"}],"hostNetwork":false}})),
    );
    check(
        "ConfigMap",
        r#"{"data":{"b":"1","a":""},"immutable":true}"#,
        Ok(json!({"data":{"a":"","b":"1"},"immutable":true})),
    );
    check("Pod", r#"{"spec":{"containers":[]},"nope":[{}]}"#, Ok(json!({"spec":{"containers":[]}})));
}

#[test]
fn inlined_members_belong_to_the_parent() {
    let text = r#"{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":80},"periodSeconds":1}}]}}"#;
    check("Pod", text, Ok(serde_json::from_str(text).unwrap()));
}

#[test]
fn null_is_absent_or_zero() {
    check(
        "Pod",
        r#"{"metadata":null,"spec":{"containers":null,"priority":null,"nodeName":null}}"#,
        Ok(json!({"spec":{}})),
    );
    check(
        "Pod",
        r#"{"spec":{"containers":[null],"nodeSelector":{"a":null}}}"#,
        Ok(json!({"spec":{"containers":[{}],"nodeSelector":{"a":""}}})),
    );
    check("Pod", r#"{"spec":{"overhead":{"cpu":null}}}"#, Ok(json!({"spec":{"overhead":{"cpu":"0"}}})));
    check("Pod", r#"{"metadata":{"creationTimestamp":null}}"#, Ok(json!({"metadata":{}})));
    check(
        "CertificateSigningRequest",
        r#"{"spec":{"extra":{"a":null,"b":["c"]}}}"#,
        Ok(json!({"spec":{"extra":{"a":null,"b":["c"]}}})),
    );
}

#[test]
fn duplicates_decode_into_the_earlier_value() {
    check(
        "Pod",
        r#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"b","labels":{"y":"2"}}}"#,
        Ok(json!({"metadata":{"name":"a","namespace":"b","labels":{"x":"1","y":"2"}}})),
    );
    check(
        "Pod",
        r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]},"spec":{"containers":[{"image":"i"}]}}"#,
        Ok(json!({"spec":{"containers":[{"name":"a","image":"i"}]}})),
    );
    check(
        "Pod",
        r#"{"spec":{"nodeName":"a","nodeName":null,"priority":1,"priority":null}}"#,
        Ok(json!({"spec":{"nodeName":"a"}})),
    );
}

#[test]
fn strict_errors_name_the_path() {
    check_strict(
        "Pod",
        r#"{"nope":1,"Spec":{},"metadata":{"name":"a","name":"b"}}"#,
        &[r#"unknown field "nope""#, r#"unknown field "Spec""#, r#"duplicate field "metadata.name""#],
    );
    check_strict(
        "Pod",
        r#"{"spec":{"containers":[{},{"env":[{"vale":{"a":1,"a":1}}]}]}}"#,
        &[r#"unknown field "spec.containers[1].env[0].vale""#],
    );
    check_strict(
        "Pod",
        r#"{"spec":{"overhead":{"cpu":"1","cpu":"2"}},"kind":"","kind":""}"#,
        &[r#"duplicate field "spec.overhead.cpu""#, r#"duplicate field "kind""#],
    );
    check_strict("Pod", "{\"a\u{e9}\\n\":1}", &["unknown field \"a\u{e9}\\n\""]);
}

#[test]
fn strict_errors_are_unique_and_limited() {
    check_strict(
        "Pod",
        r#"{"x":1,"x":2,"spec":{"nodeName":"a","nodeName":"b","nodeName":"c"}}"#,
        &[r#"unknown field "x""#, r#"duplicate field "spec.nodeName""#],
    );
    let members: Vec<String> = (0..STRICT_ERRORS_MAX + 20).map(|i| format!("\"u{i}\":0")).collect();
    let decoded = decode(message("Pod"), format!("{{{}}}", members.join(",")).as_bytes()).unwrap();
    assert_eq!(decoded.strict.len(), STRICT_ERRORS_MAX);
}

#[test]
fn syntax_errors_match_go() {
    check_syntax("", "unexpected end of JSON input");
    check_syntax("{", "unexpected end of JSON input");
    check_syntax(r#"{"a":"b"#, "unexpected end of JSON input");
    check_syntax(r#"{"a" 1}"#, "invalid character '1' after object key");
    check_syntax(r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair");
    check_syntax(r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string");
    check_syntax("{'a':1}", r"invalid character '\'' looking for beginning of object key string");
    check_syntax("[1 2]", "invalid character '2' after array element");
    check_syntax("[1,]", "invalid character ']' looking for beginning of value");
    check_syntax("{} x", "invalid character 'x' after top-level value");
    check_syntax("01", "invalid character '1' after top-level value");
    check_syntax("-", "invalid character ' ' in numeric literal");
    check_syntax("[1.]", "invalid character ']' after decimal point in numeric literal");
    check_syntax("[1e+]", "invalid character ']' in exponent of numeric literal");
    check_syntax("[nul]", "invalid character ']' in literal null (expecting 'l')");
    check_syntax("tru", "invalid character ' ' in literal true (expecting 'e')");
    check_syntax("[\"\t\"]", r"invalid character '\t' in string literal");
    check_syntax(r#"["\x"]"#, "invalid character 'x' in string escape code");
    check_syntax(r#"["\u12g4"]"#, r"invalid character 'g' in \u hexadecimal character escape");
    check_syntax("\u{feff}{}", "invalid character '\u{ef}' looking for beginning of value");
    check_syntax("\u{0}", r"invalid character '\x00' looking for beginning of value");
    check_syntax(r"\", r"invalid character '\\' looking for beginning of value");
}

#[test]
fn syntax_errors_precede_type_errors() {
    check("Pod", r#"{"spec":5,"metadata":{"creationTimestamp":"x"}"#, Err("unexpected end of JSON input"));
    check(
        "Pod",
        r#"{"spec":{"overhead":{"cpu":"x"}}} y"#,
        Err("invalid character 'y' after top-level value"),
    );
}

#[test]
fn type_errors_match_go() {
    let wrong = |what: &str| format!("json: cannot unmarshal {what}");
    for (kind, text, expected) in [
        ("Pod", "[]", "array into Go value of type v1.Pod"),
        ("Pod", r#"{"metadata":5}"#, "number into Go struct field Pod.metadata of type v1.ObjectMeta"),
        ("Pod", r#"{"kind":5}"#, "number into Go struct field Pod.TypeMeta.kind of type string"),
        (
            "Pod",
            r#"{"spec":{"containers":{}}}"#,
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            r#"{"spec":{"containers":["a"]}}"#,
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            "Pod",
            r#"{"spec":{"nodeSelector":{"a":true}}}"#,
            "bool into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            "Pod",
            r#"{"spec":{"priority":5.0}}"#,
            "number 5.0 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            r#"{"spec":{"priority":2147483648}}"#,
            "number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            r#"{"spec":{"restartPolicy":[]}}"#,
            "array into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "Pod",
            r#"{"spec":{"overhead":[]}}"#,
            "array into Go struct field PodSpec.spec.overhead of type v1.ResourceList",
        ),
        (
            "Pod",
            r#"{"spec":{"containers":[{"livenessProbe":{"exec":1}}]}}"#,
            "number into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.exec of type v1.ExecAction",
        ),
        (
            "Pod",
            r#"{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":1.5}}}]}}"#,
            "number 1.5 into Go struct field TCPSocketAction.spec.containers.livenessProbe.ProbeHandler.tcpSocket.port of type int32",
        ),
    ] {
        check(kind, text, Err(&wrong(expected)));
    }
}

#[test]
fn special_type_errors_match_go() {
    let wrong = |what: &str| format!("json: cannot unmarshal {what}");
    for (kind, text, expected) in [
        ("Secret", r#"{"data":[]}"#, "array into Go struct field Secret.data of type map[string][]uint8"),
        (
            "Pod",
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "CertificateSigningRequest",
            r#"{"spec":{"extra":{"a":"b"}}}"#,
            "string into Go struct field CertificateSigningRequestSpec.spec.extra of type v1.ExtraValue",
        ),
        (
            "CustomResourceDefinition",
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"maximum":"x"}}}}]}}"#,
            "string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.maximum of type float64",
        ),
    ] {
        check(kind, text, Err(&wrong(expected)));
    }
}

#[test]
fn first_type_error_wins_except_leaf_errors() {
    check(
        "Pod",
        r#"{"spec":5,"metadata":6}"#,
        Err("json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"),
    );
    check(
        "Pod",
        r#"{"spec":5,"metadata":{"creationTimestamp":"x"}}"#,
        Err(r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
    );
}

#[test]
fn short_and_long_integers_decode_alike() {
    let field = |name: &str, text: &str| format!(r#"{{"spec":{{"{name}":{text}}}}}"#);
    let texts = "0 -0 7 -1 01 -01 2147483647 -2147483648 2147483648 999999999999999999 1000000000000000000 \
                 9223372036854775807 9223372036854775808 -9223372036854775808 1e3 1E3 1.0 1. - -x 12x";
    for text in texts.split_whitespace() {
        let digits = text.trim_start_matches('-');
        let is_number = digits.len() == 1 || !digits.starts_with('0');
        for (name, least) in [("priority", i32::MIN.into()), ("terminationGracePeriodSeconds", i64::MIN)] {
            let fits = |number: &i64| is_number && (least..=-1 - least).contains(number);
            let read = decode(message("Pod"), field(name, text).as_bytes());
            match text.parse().ok().filter(fits) {
                Some(number) => {
                    assert_eq!(read.unwrap().object["spec"][name].as_i64(), Some(number), "{text}")
                }
                None => assert!(read.is_err(), "{name}: {text}"),
            }
        }
    }
}

#[test]
fn times_are_normalised_to_utc() {
    let time = |text: &str| format!(r#"{{"metadata":{{"creationTimestamp":"{text}"}}}}"#);
    check(
        "Pod",
        &time("2024-01-02T03:04:05+01:00"),
        Ok(json!({"metadata":{"creationTimestamp":"2024-01-02T02:04:05Z"}})),
    );
    check(
        "Pod",
        &time("2024-01-02T03:04:05.9Z"),
        Ok(json!({"metadata":{"creationTimestamp":"2024-01-02T03:04:05Z"}})),
    );
    check("Pod", &time("0001-01-01T00:00:00Z"), Ok(json!({"metadata":{}})));
    check(
        "Pod",
        r#"{"metadata":{"deletionTimestamp":"0001-01-01T00:00:00Z"}}"#,
        Ok(json!({"metadata":{"deletionTimestamp":null}})),
    );
    let micro = |text: &str| format!(r#"{{"spec":{{"renewTime":"{text}"}}}}"#);
    check(
        "Lease",
        &micro("2024-01-02T03:04:05.000001+01:00"),
        Ok(json!({"spec":{"renewTime":"2024-01-02T02:04:05.000001Z"}})),
    );
    check(
        "Lease",
        &micro("2024-01-02T03:04:05Z"),
        Err(
            r#"parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
        ),
    );
}

#[test]
fn quantities_are_canonical() {
    let cpu = |text: &str| format!(r#"{{"spec":{{"overhead":{{"cpu":{text}}}}}}}"#);
    for (text, canonical) in [(r#""0.5""#, "500m"), ("2", "2"), (r#"" 1Ki ""#, "1Ki"), ("1.5e3", "1500")] {
        check("Pod", &cpu(text), Ok(json!({"spec":{"overhead":{"cpu":canonical}}})));
    }
    for text in [r#""x""#, "true", "{}", r#""\u0031""#] {
        let refused =
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        check("Pod", &cpu(text), Err(refused));
    }
}

#[test]
fn bytes_are_base64_with_line_breaks() {
    let data = |text: &str| format!(r#"{{"data":{{"k":{text}}}}}"#);
    for (text, canonical) in [
        (r#""YWI=""#, "YWI="),
        (r#""YW\nI=\r\n""#, "YWI="),
        (r#""""#, ""),
        (r#""YWJ=""#, "YWI="),
        ("[97,98]", "YWI="),
        ("null", ""),
    ] {
        check("Secret", &data(text), Ok(json!({"data":{"k":canonical}})));
    }
    for (text, at) in
        [("YWI", 0), ("YWJjZA", 4), ("Y Q=", 1), ("YQ=x", 2), ("YQ==x", 4), ("YQ=", 3), ("=", 0)]
    {
        check(
            "Secret",
            &data(&format!("\"{text}\"")),
            Err(&format!("illegal base64 data at input byte {at}")),
        );
    }
}

#[test]
fn verbatim_json_keeps_its_white_space() {
    check(
        "ControllerRevision",
        r#"{"data": { "a" : [1.0, "\u0041"] } ,"revision":1}"#,
        Ok(json!({"data":r#"{ "a" : [1.0, "\u0041"] }"#,"revision":1})),
    );
    check("ControllerRevision", r#"{"data":null}"#, Ok(json!({})));
    let deep = format!(r#"{{"data":{}{}}}"#, "[".repeat(DEPTH_MAX - 1), "]".repeat(DEPTH_MAX - 1));
    assert!(decode(message("ControllerRevision"), deep.as_bytes()).is_ok());
}

#[test]
fn schema_unions_are_not_strict() {
    let schema =
        |text: &str| format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{text}}}}}]}}}}"#);
    let tree = |schema: Value| Ok(json!({"spec":{"versions":[{"schema":{"openAPIV3Schema":schema}}]}}));
    let crd = "CustomResourceDefinition";
    check(
        crd,
        &schema(r#"{"additionalProperties":false,"items":{"type":"string"}}"#),
        tree(json!({"additionalProperties":false,"items":{"type":"string"}})),
    );
    check(
        crd,
        &schema(r#"{"dependencies":{"a":["b"],"c":null},"items":[]}"#),
        tree(json!({"dependencies":{"a":["b"],"c":null},"items":null})),
    );
    check(
        crd,
        &schema(r#"{"default":{"a": 1},"enum":[1,null],"maximum":5}"#),
        tree(json!({"default":r#"{"a": 1}"#,"enum":["1",null],"maximum":5.0})),
    );
    check(crd, &schema(r#"{"additionalProperties":5}"#), Err("boolean or JSON schema expected"));
    check_strict(
        crd,
        &schema(r#"{"items":{"nope":1},"nope":2}"#),
        &[r#"unknown field "spec.versions[0].schema.openAPIV3Schema.nope""#],
    );
}

#[test]
fn broken_text_becomes_replacement_characters() {
    let bytes =
        [br#"{"data":{"k":""#.as_slice(), b"\xff\xe2\x82", br#"\ud83d\ude00\ud83dx\ude00"}}"#].concat();
    let object = decode(message("ConfigMap"), &bytes).unwrap().object;
    assert_eq!(
        Value::Object(object),
        json!({"data":{"k":"\u{fffd}\u{fffd}\u{fffd}\u{1f600}\u{fffd}x\u{fffd}"}})
    );
    let unknown = decode(message("ConfigMap"), b"{\"x\xff\":1,\"data\":{}}").unwrap();
    assert_eq!(
        unknown.strict.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["unknown field \"x\u{fffd}\""]
    );
    check(
        "ConfigMap",
        r#"{"data":{"\u006b":"\"\\\/\b\f\n\r\t\u0000"}}"#,
        Ok(json!({"data":{"k":"\"\\/\u{8}\u{c}\n\r\t\u{0}"}})),
    );
}

#[test]
fn nesting_is_bounded() {
    let lists = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let too_deep = "invalid character '[' exceeded max depth";
    check("Pod", &format!(r#"{{"nope":{}}}"#, lists(DEPTH_MAX - 1)), Ok(json!({})));
    check("Pod", &format!(r#"{{"nope":{}}}"#, lists(DEPTH_MAX)), Err(too_deep));
    assert!(type_meta(lists(DEPTH_MAX).as_bytes()).is_err_and(|error| !error.to_string().contains("depth")));
    assert!(decode_untyped(lists(TREE_DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(decode_untyped(lists(TREE_DEPTH_MAX + 1).as_bytes()).unwrap_err().to_string(), too_deep);
    let schema = r#"{"not":"#.repeat(TREE_DEPTH_MAX) + "1" + &"}".repeat(TREE_DEPTH_MAX);
    let crd = format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#);
    check("CustomResourceDefinition", &crd, Err("invalid character '{' exceeded max depth"));
}

#[test]
fn all_structs_fit_the_member_set() {
    assert!(builtin::ALL.iter().all(|message| message.members.len() <= MEMBERS_MAX));
}

#[test]
fn untyped_numbers_are_integers_if_possible() {
    let value =
        |text: &str| decode_untyped(text.as_bytes()).map(|untyped| untyped.value).map_err(|e| e.to_string());
    assert_eq!(
        value("[1,-0,1.0,1e2,9223372036854775808]"),
        Ok(json!([1, 0, 1.0, 100.0, 9223372036854775808.0]))
    );
    assert_eq!(value(r#"{"a":null,"b":[true,"x"]}"#), Ok(json!({"a":null,"b":[true,"x"]})));
    assert_eq!(
        value("1e999"),
        Err("json: cannot unmarshal number 1e999 into Go value of type float64".to_owned())
    );
    let repeated = decode_untyped(br#"{"a":[{"b":1,"b":2}]}"#).unwrap();
    assert_eq!(repeated.value, json!({"a":[{"b":2}]}));
    assert_eq!(
        repeated.strict.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [r#"duplicate field "a[0].b""#]
    );
}

#[test]
fn outline_skips_named_objects() {
    let outline = |text: &str| {
        let outline = decode_outline(text.as_bytes(), &["schema", "f"]).map_err(|error| error.to_string())?;
        let skipped = outline.skipped.into_iter().map(|at| text[at].to_owned()).collect::<Vec<_>>();
        Ok::<_, String>((outline.value, skipped))
    };
    let check = |text: &str, expected: Value, skipped: &[&str]| {
        assert_eq!(
            outline(text),
            Ok((expected, skipped.iter().copied().map(str::to_owned).collect())),
            "{text}"
        );
    };
    check(
        r#"{"a":[{"schema": { "b" : [1,"}"] } }],"c":2,"f":{}}"#,
        json!({"a": [{"schema": 0}], "c": 2, "f": 1}),
        &[r#"{ "b" : [1,"}"] }"#, "{}"],
    );
    check(r#"{"schema":{"schema":{"schema":1}}}"#, json!({"schema": 0}), &[r#"{"schema":{"schema":1}}"#]);
    // A number in such a member is not mistaken for an index.
    check(
        r#"{"schema":7,"a":{"schema":[{"x":1}]},"f":{"y":1}}"#,
        json!({"schema": null, "a": {"schema": [{"x": 1}]}, "f": 0}),
        &[r#"{"y":1}"#],
    );
    check(r#"{"schema":"text","f":1.5}"#, json!({"schema": "text", "f": null}), &[]);
    check(r#"{"schema":{"a":1},"schema":{"b":1}}"#, json!({"schema": 1}), &[r#"{"a":1}"#, r#"{"b":1}"#]);
    check(r#"{"schema":{"a":1},"schema":3}"#, json!({"schema": null}), &[r#"{"a":1}"#]);
    let cut = r#"{"schema":{"a":"#;
    assert_eq!(outline(cut), Err(decode_untyped(cut.as_bytes()).unwrap_err().to_string()));
}

#[test]
fn type_meta_ignores_case_and_scans_everything() {
    let meta = |text: &str| {
        type_meta(text.as_bytes()).map(|m| format!("{} {}", m.api_version, m.kind)).map_err(|e| e.to_string())
    };
    assert_eq!(
        meta(r#"{"apiVersion":"apps/v1","kind":"Deployment","spec":[{}]}"#),
        Ok("apps/v1 Deployment".to_owned())
    );
    assert_eq!(
        meta("{\"APIVER\u{17f}ION\":\"v1\",\"\u{212a}ind\":\"Pod\",\"kind\":null}"),
        Ok("v1 Pod".to_owned())
    );
    assert_eq!(meta("null"), Ok(" ".to_owned()));
    assert_eq!(meta(r#"{"apiVersion":"a/b/c"}"#), Err("unexpected GroupVersion string: a/b/c".to_owned()));
    let prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    assert_eq!(
        meta(r#"{"kind":7,"apiVersion":[]}"#),
        Err(format!("{prefix} number into Go struct field .kind of type string"))
    );
    assert_eq!(
        meta("[]"),
        Err(format!(
            "{prefix} array into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
         Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        ))
    );
}

#[test]
fn messages_are_wrapped_like_upstream() {
    let decoded = decode(message("Pod"), br#"{"x":1,"kind":"","kind":""}"#).unwrap();
    let strict = errors::strict_decoding_error(&decoded.strict);
    assert_eq!(strict, r#"strict decoding error: unknown field "x", duplicate field "kind""#);
    assert_eq!(
        errors::cannot_be_handled("Pod", "v1", "Pod", strict),
        r#"Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "x", duplicate field "kind""#,
    );
    assert_eq!(
        errors::unrecognized("Pod", "e", b""),
        "the object provided is unrecognized (must be of type Pod): e (<empty>)"
    );
    assert_eq!(
        errors::unrecognized("Pod", "e", b"\"x\""),
        "the object provided is unrecognized (must be of type Pod): e (227822)"
    );
    let long = br#"{"a":"0123456789012345678901234567890123456789"}"#;
    assert_eq!(
        errors::unrecognized("Pod", "e", long),
        r#"the object provided is unrecognized (must be of type Pod): e ({"a":"012345678901234567890123 ...)"#,
    );
    assert_eq!(
        errors::not_registered("Pod", "v9", "scheme.go:1"),
        r#"no kind "Pod" is registered for version "v9" in scheme "scheme.go:1""#,
    );
}
