//! `metav1.LabelSelector` (matchLabels and matchExpressions) as a [`Selector`].

use super::{LabelSelectorError, Operator, Requirement, Selector};
use crate::field::Path;
use crate::go_quote::Quoted;
use jsontree::{Object, Value};

/// Parses a `LabelSelector` in JSON form. `None` selects nothing, an empty one selects everything (upstream's
/// `LabelSelectorAsSelector`). Members of the wrong JSON type are skipped, because the decoder has rejected
/// them before.
///
/// # Errors
/// The first invalid key, operator, value or number of values, in upstream's wording.
pub fn from_label_selector(selector: Option<&Object>) -> Result<Selector, LabelSelectorError> {
    let Some(selector) = selector else {
        return Ok(Selector::nothing());
    };
    let mut requirements = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let values = value.as_str().map(str::to_owned).into_iter().collect();
        requirements.push(requirement(key, Operator::Equals, values)?);
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let text = |name| expression.get(name).and_then(Value::as_str).unwrap_or_default();
        let values = expression.get("values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        requirements.push(requirement(text("key"), operator(text("operator"))?, values.collect())?);
    }
    Ok(Selector::new(requirements))
}

fn requirement(
    key: &str,
    operator: Operator,
    values: Vec<String>,
) -> Result<Requirement, LabelSelectorError> {
    Requirement::new(key.to_owned(), operator, values, &Path::NIL)
}

fn operator(name: &str) -> Result<Operator, LabelSelectorError> {
    Ok(match name {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => {
            return Err(LabelSelectorError(format!(
                "{} is not a valid label selector operator",
                Quoted(name)
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(selector: &Value, expected: Result<&str, &str>) {
        let actual =
            from_label_selector(selector.as_object()).map(|s| s.to_string()).map_err(|e| e.to_string());
        assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn labels_and_expressions_become_requirements() {
        check(&json!({}), Ok(""));
        check(&json!({"matchLabels": {"b": "1", "a": "2"}}), Ok("a=2,b=1"));
        check(
            &json!({"matchExpressions": [
                {"key": "d", "operator": "In", "values": ["y", "x"]},
                {"key": "c", "operator": "NotIn", "values": ["z"]},
                {"key": "b", "operator": "Exists"},
                {"key": "a", "operator": "DoesNotExist"},
            ]}),
            Ok("!a,b,c notin (z),d in (x,y)"),
        );
    }

    #[test]
    fn bad_expressions_are_refused() {
        check(
            &json!({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}),
            Err(r#""Gt" is not a valid label selector operator"#),
        );
        check(
            &json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            Err("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        );
    }

    #[test]
    fn an_absent_selector_selects_nothing() {
        assert_eq!(from_label_selector(None), Ok(Selector::nothing()));
    }
}
