//! Translation of rules to the checks of the evaluator (`pkg/kinds/src/declarative/rules.rs`).

use crate::error::Error;

use super::facts::{Fact, Field};

/// Formats by the name in the rule.
const FORMATS: [(&str, &str); 10] = [
    ("k8s-extended-resource-name", "ExtendedResourceName"),
    ("k8s-label-key", "LabelKey"),
    ("k8s-long-name", "LongName"),
    ("k8s-long-name-caseless", "LongNameCaseless"),
    ("k8s-path-segment-name", "PathSegmentName"),
    ("k8s-prefixed-label-key", "PrefixedLabelKey"),
    ("k8s-resource-fully-qualified-name", "ResourceFullyQualifiedName"),
    ("k8s-resource-pool-name", "ResourcePoolName"),
    ("k8s-short-name", "ShortName"),
    ("k8s-uuid", "Uuid"),
];

/// Constraints of the rule `update`, in the order in which upstream checks them.
pub(super) const UPDATES: [&str; 5] = ["NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"];

/// Rules that a list or a struct has as a whole; `table` reads them.
const STRUCTURAL: [&str; 16] = [
    "customUnique",
    "customValidation",
    "dependentForbidden",
    "dependentRequired",
    "deprecated",
    "enum",
    "ifMode",
    "item",
    "listMapKey",
    "listType",
    "modeDiscriminator",
    "opaqueType",
    "subfield",
    "unionMember",
    "unique",
    "update",
];

/// A rule split at its name: `maxItems=4` has the argument `4`, and `ifMode("Queue")=required` the parameter
/// `"Queue"` and the argument `required`.
pub(super) struct Parts<'f> {
    pub(super) name: &'f str,
    pub(super) parameter: &'f str,
    pub(super) argument: &'f str,
}

impl<'f> Parts<'f> {
    pub(super) fn of(rule: &'f str) -> Self {
        let end = rule.find(['(', '=']).unwrap_or(rule.len());
        let name = &rule[..end];
        let rest = &rule[end..];
        let parameter = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (parameter, rest) = parameter.unwrap_or(("", rest));
        Parts { name, parameter, argument: rest.strip_prefix('=').unwrap_or_default() }
    }
}

/// Removes quotation marks.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}

/// True if the rule belongs to the list or struct, not to a single value.
pub(super) fn is_structural(rule: &str) -> bool {
    STRUCTURAL.contains(&Parts::of(rule).name) || rule == "eachVal=opaqueType"
}

/// Returns the check of a rule for a single value, or `None` if the rule has no effect on the field.
///
/// # Errors
/// An unknown rule, or a bound that is no number.
pub(super) fn check(rule: &str, field: &Field) -> Result<Option<String>, Error> {
    let parts = Parts::of(rule);
    let bound = || bound(rule, parts.argument);
    Ok(Some(match parts.name {
        "required" => "Required".to_owned(),
        "forbidden" => "Forbidden".to_owned(),
        "immutable" => "Immutable".to_owned(),
        "monotonic" => "Monotonic".to_owned(),
        // Upstream: a field with a default is required, unless a zero value is the default.
        "optional" if field.zero_default && !field.pointer && !field.container => return Ok(None),
        "optional" if field.zero_default || field.default => "Required".to_owned(),
        "optional" => "Optional".to_owned(),
        "minimum" => format!("Minimum({})", bound()?),
        "maximum" => format!("Maximum({})", bound()?),
        "maxItems" => format!("MaxItems({})", bound()?),
        "maxLength" => format!("MaxLength({})", bound()?),
        "maxBytes" => format!("MaxBytes({})", bound()?),
        "format" => format!("Format({})", format_name(parts.argument)?),
        "eachKey" => return each("EachKey", parts.argument, field),
        "eachVal" => return each("EachItem", parts.argument, field),
        _ => return Err(unknown(rule)),
    }))
}

fn each(name: &str, argument: &str, field: &Field) -> Result<Option<String>, Error> {
    Ok(check(argument, field)?.map(|check| format!("{name}(&{check})")))
}

fn bound(rule: &str, argument: &str) -> Result<i64, Error> {
    argument.parse().map_err(|_| unknown(rule))
}

fn format_name(argument: &str) -> Result<&'static str, Error> {
    let format = FORMATS.iter().find(|(known, _)| *known == unquoted(argument));
    format.map(|(_, format)| *format).ok_or_else(|| unknown(&format!("format={argument}")))
}

/// True if a failed check ends the validation of the field.
pub(super) fn short_circuits(check: &str) -> bool {
    let name = check.split('(').next().unwrap_or_default();
    matches!(name, "Required" | "Optional" | "Forbidden" | "Immutable" | "MaxItems" | "Update")
}

pub(super) fn unknown(rule: &str) -> Error {
    let scalar = ["required", "optional", "forbidden", "immutable", "monotonic", "minimum", "maximum"];
    let sized = ["maxItems", "maxLength", "maxBytes", "format", "eachKey", "eachVal"];
    let known = [&scalar[..], &sized, &STRUCTURAL].concat().join(", ");
    Error::Unknown { kind: "declarative rule", name: rule.to_owned(), known }
}

/// Returns the tag by which upstream sorts the rules of a field. `alpha`, `beta`, `ifDisabled` and `ifEnabled`
/// are tags that contain another one.
pub(super) fn tag(fact: &Fact) -> &str {
    match (fact.level.as_str(), &fact.disabled, &fact.enabled) {
        ("alpha" | "beta", ..) => &fact.level,
        (_, Some(_), _) => "ifDisabled",
        (_, None, Some(_)) => "ifEnabled",
        _ => Parts::of(&fact.rule).name,
    }
}

/// Returns the text of a check with its level and condition.
pub(super) fn leveled(fact: &Fact, check: &str) -> String {
    let condition = match (&fact.enabled, &fact.disabled) {
        (Some(option), _) => format!(".when({option:?})"),
        (None, Some(option)) => format!(".unless({option:?})"),
        (None, None) => String::new(),
    };
    format!("{}({check}){condition}", fact.level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_split_at_their_name() {
        let parts = Parts::of("ifMode(\"Queue\")=required");
        assert_eq!((parts.name, parts.parameter, parts.argument), ("ifMode", "\"Queue\"", "required"));
        let parts = Parts::of("eachVal=maxBytes=64");
        assert_eq!((parts.name, parts.argument), ("eachVal", "maxBytes=64"));
    }

    #[test]
    fn unknown_rule_is_named() {
        let message = unknown("maxItem=4").to_string();
        assert!(message.starts_with("no declarative rule is named maxItem=4; known: required"), "{message}");
    }
}
