//! Checks member names in string literals. Trees are read by name, and a misspelled name reads as absent, so
//! a rule with it never applies. Therefore every name passed to an accessor must be a member of some type.

use std::collections::BTreeSet;

/// Folders that read and edit trees by name.
pub(crate) const PLACES: [&str; 28] = [
    "pkg/api/src/conversion",
    "pkg/kinds/src/admissionregistration",
    "pkg/kinds/src/apiextensions",
    "pkg/kinds/src/apiregistration",
    "pkg/kinds/src/apps",
    "pkg/kinds/src/authentication",
    "pkg/kinds/src/authorization",
    "pkg/kinds/src/autoscaling",
    "pkg/kinds/src/batch",
    "pkg/kinds/src/certificates",
    "pkg/kinds/src/coordination",
    "pkg/kinds/src/core",
    "pkg/kinds/src/defaults",
    "pkg/kinds/src/discovery",
    "pkg/kinds/src/events",
    "pkg/kinds/src/flowcontrol",
    "pkg/kinds/src/internal",
    "pkg/kinds/src/networking",
    "pkg/kinds/src/node",
    "pkg/kinds/src/policy",
    "pkg/kinds/src/rbac",
    "pkg/kinds/src/resource",
    "pkg/kinds/src/scheduling",
    "pkg/kinds/src/storage",
    "pkg/kinds/src/storagemigration",
    "pkg/kinds/src/strategy",
    "pkg/kinds/src/validation",
    "pkg/kinds/src/warnings",
];

/// Functions that take member names (`api::tree`, `schema::object`, `defaults::object`, error paths, and
/// strategy helpers).
const ACCESSORS: [&str; 38] = [
    "text",
    "integer",
    "flag",
    "maybe_text",
    "maybe_integer",
    "maybe_flag",
    "is_set",
    "child",
    "child_mut",
    "list",
    "list_mut",
    "texts",
    "children",
    "children_mut",
    "pairs",
    "rename",
    "get",
    "get_mut",
    "get_str",
    "get_i64",
    "get_bool",
    "get_object",
    "get_list",
    "set",
    "remove",
    "text_at",
    "restore",
    "within",
    "each",
    "behind",
    "is_nil",
    "lacks",
    "immutable",
    "if_nil",
    "if_zero",
    "set_text",
    "metadata",
    "contains_key",
];

/// Accessors whose third argument is a value.
const WITH_VALUE: [&str; 4] = ["if_nil", "if_zero", "set_text", "set"];

/// Names that are not members, with the reason.
const OTHERS: [(&str, &str); 5] = [
    ("AvoidPods", "upstream's name of it in an error"),
    ("PodSignature", "upstream's name of it in an error"),
    ("Spec", "upstream's name of it in a warning"),
    ("initiatorname", "upstream's name of it in an error"),
    ("targetportal", "upstream's name of it in an error"),
];

/// Returns the members of all types: the first word of each indented line of the IDL.
pub(crate) fn members<'t>(idl: impl Iterator<Item = &'t str>) -> BTreeSet<&'t str> {
    let fields = idl.flat_map(str::lines).filter_map(|line| line.strip_prefix("  "));
    let names = fields.filter_map(|line| line.split_whitespace().next());
    names.chain(["apiVersion", "kind"]).collect()
}

/// Returns the names in a source that are no type's member.
pub(crate) fn findings(path: &str, text: &str, members: &BTreeSet<&str>) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let unknown = |name: &str| !members.contains(name) && OTHERS.iter().all(|(other, _)| *other != name);
    names(&without_comments(code))
        .into_iter()
        .filter(|name| unknown(name))
        .map(|name| format!("{path}: no type has a member {name:?}"))
        .collect()
}

fn without_comments(code: &str) -> String {
    let lines = code.lines().map(|line| {
        if line.trim_start().starts_with("//") { "" } else { line.split(" // ").next().unwrap_or_default() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the literals passed to accessors that look like a member name, not like a map key.
fn names(code: &str) -> Vec<&str> {
    let mut members = Vec::new();
    for (open, _) in code.match_indices('(') {
        let before = code.get(..open).unwrap_or_default();
        let function = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        // Headings of Table columns are not members.
        let is_heading = |function: &&str| before.trim_end_matches(*function).ends_with("Column::");
        if let Some(function) = function.filter(|f| ACCESSORS.contains(f) && !is_heading(f)) {
            let arguments_max = if WITH_VALUE.contains(&function) { 2 } else { usize::MAX };
            let rest = code.get(open + 1..).unwrap_or_default();
            members.extend(literals(rest, arguments_max).into_iter().filter(|text| is_name(text)));
        }
    }
    members
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns the string literals among the first arguments of a call. `code` is the text after the opening
/// parenthesis. Includes literals in arrays, but not those of nested calls.
fn literals(code: &str, arguments_max: usize) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut depth = 1_usize;
    let mut array = 0_usize;
    let mut arguments = 1_usize;
    let mut at = 0;
    while let Some(c) = code.as_bytes().get(at) {
        match c {
            b'"' => {
                let rest = code.get(at + 1..).unwrap_or_default();
                let length = string_length(rest);
                if depth == 1 {
                    texts.extend(rest.get(..length));
                }
                at += length + 1;
            }
            b'\'' if code.as_bytes().get(at + 2) == Some(&b'\'') => at += 2,
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b'[' => array += 1,
            b']' => array = array.saturating_sub(1),
            b',' if depth == 1 && array == 0 => arguments += 1,
            _ => {}
        }
        if depth == 0 || arguments > arguments_max {
            break;
        }
        at += 1;
    }
    texts
}

/// Returns the length of a literal; `text` follows its opening quote.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.unwrap_or(text.len())
}

#[test]
fn unknown_member_name_is_found() {
    let members = members(["type A {\n  spec 1 Spec\n  name 2 string\n}\n"].into_iter());
    let check = |code: &str, expected: &[&str]| {
        let actual = findings("f", code, &members);
        let expected: Vec<String> =
            expected.iter().map(|name| format!("f: no type has a member {name:?}")).collect();
        assert_eq!(actual, expected, "{code}");
    };
    check(r#"text(spec, "name")"#, &[]);
    check(r#"text(spec, "nmae")"#, &["nmae"]);
    check(r#"Column::text("Name", |object, _| object.get("nmae"))"#, &["nmae"]);
    check(r#"get_str(o, &["spec", "nmae"])"#, &["nmae"]);
    check(r#"text(child(o, "spce"), "name")"#, &["spce"]);
    check(r#"if_zero(o, "name", "Always")"#, &[]);
    check(r#"if_zero(o, "nmae", "Always")"#, &["nmae"]);
    check(r#"text(labels, "app.kubernetes.io/name")"#, &[]);
    check(r#"format("nmae")"#, &[]);
    check("// text(o, \"nmae\")\n#[cfg(test)]\nmod tests { text(o, \"nmae\") }", &[]);
}
