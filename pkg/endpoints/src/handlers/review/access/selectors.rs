//! Selectors in an access review.

use apimachinery::field::Path;
use apimachinery::go_quote::quote;
use apimachinery::selectors::{FieldRequirements, LabelRequirements, Selectors};
use apimachinery::{fields, labels};
use schema::object::{Object, get_object};

use super::{member, requirements, texts};

/// Returns the valid selectors of a review. Ignoring an invalid one makes the request broader, so it never
/// allows more.
pub(super) fn of(object: &Object) -> Selectors {
    let selector_of = |name| get_object(object, &["spec", "resourceAttributes", name]);
    Selectors {
        fields: selector_of("fieldSelector").map_or(FieldRequirements::NONE, |selector| match requirements(
            selector,
        )
        .next()
        {
            Some(_) => FieldRequirements::collect(requirements(selector).map(field_requirement)),
            None => FieldRequirements::parse(member(selector, "rawSelector")),
        }),
        labels: selector_of("labelSelector").map_or(LabelRequirements::NONE, |selector| match requirements(
            selector,
        )
        .next()
        {
            Some(_) => LabelRequirements::collect(requirements(selector).map(label_requirement)),
            None => LabelRequirements::parse(member(selector, "rawSelector")),
        }),
    }
}

/// Converts a requirement that can be evaluated: a field compared with a single value.
fn field_requirement(requirement: &Object) -> Result<fields::Requirement, String> {
    let values = requirement.get("values").map(texts).unwrap_or_default();
    let operator = match member(requirement, "operator") {
        "In" => fields::Operator::Equals,
        "NotIn" => fields::Operator::NotEquals,
        other => return Err(format!("{} is not a valid field selector operator", quote(other))),
    };
    let [value] = <[String; 1]>::try_from(values).map_err(|_| "fieldSelectors must have one value")?;
    Ok(fields::Requirement { field: member(requirement, "key").to_owned(), operator, value })
}

fn label_requirement(requirement: &Object) -> Result<labels::Requirement, String> {
    let operator = match member(requirement, "operator") {
        "In" => labels::Operator::In,
        "NotIn" => labels::Operator::NotIn,
        "Exists" => labels::Operator::Exists,
        "DoesNotExist" => labels::Operator::DoesNotExist,
        other => return Err(format!("{} is not a valid label selector operator", quote(other))),
    };
    let values = requirement.get("values").map(texts).unwrap_or_default();
    let key = member(requirement, "key").to_owned();
    labels::Requirement::new(key, operator, values, &Path::NIL).map_err(|error| error.to_string())
}

/// Evaluation errors for selectors that could not be parsed.
pub(super) fn evaluation_errors(selectors: &Selectors) -> Vec<String> {
    let Selectors { fields, labels } = selectors;
    let all = [
        ("fieldSelector", fields.error.is_some(), fields.read.is_empty()),
        ("labelSelector", labels.error.is_some(), labels.read.is_empty()),
    ];
    let messages = all.into_iter().filter(|(_, broken, _)| *broken).map(|(name, _, nothing_read)| {
        let how = if nothing_read { "ignored" } else { "partially ignored" };
        format!("spec.resourceAttributes.{name} {how} due to parse error")
    });
    messages.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::{Value, json};

    use super::*;

    #[test]
    fn invalid_selectors_are_reported() {
        let check = |name: &str, selector: Value, expected: Option<&str>| {
            let review = json!({"spec": {"resourceAttributes": {name: selector}}});
            let review = review.as_object().unwrap();
            let message = |how: &str| format!("spec.resourceAttributes.{name} {how} due to parse error");
            let expected: Vec<String> = expected.into_iter().map(message).collect();
            assert_eq!(evaluation_errors(&of(review)), expected, "{review:?}");
        };
        let exists = json!({"key": "a", "operator": "Exists"});
        let is = json!({"key": "a", "operator": "In", "values": ["b"]});
        let bogus = json!({"key": "a", "operator": "Bogus"});
        for name in ["fieldSelector", "labelSelector"] {
            check(name, json!({"rawSelector": "a=b"}), None);
            check(name, json!({"rawSelector": "bad selector!!"}), Some("ignored"));
            check(name, json!({"requirements": [is]}), None);
            check(name, json!({"requirements": [is, bogus]}), Some("partially ignored"));
            check(name, json!({"requirements": [bogus]}), Some("ignored"));
        }
        check("fieldSelector", json!({"requirements": [exists]}), Some("ignored"));
        check("labelSelector", json!({"requirements": [exists]}), None);
        check(
            "fieldSelector",
            json!({"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}),
            Some("ignored"),
        );
    }
}
