//! `SelfSubjectRulesReview`: lists the allowed actions of the user.

use apimachinery::status::Status;
use authorization::Rules;
use jsontree::{Value, json};
use registry::generic::Admit;
use schema::object::{Object, get_str};

use super::super::admission::Admission;
use crate::scope::RequestScope;

/// Lists the permissions of the user from the server's own authorizer. As in upstream, the response contains
/// nothing of the request object.
///
/// # Errors
/// 400 for a review without a namespace.
pub(super) async fn review(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    object: &mut Object,
) -> Result<Value, Box<Status>> {
    let namespace = get_str(object, &["spec", "namespace"]).unwrap_or("").to_owned();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request").into());
    }
    admit.validate(object, None).await?;
    object.clear();
    object.insert("spec", json!({}));
    Ok(listed(call.api.authorizer.rules(call.user, &namespace).await))
}

fn listed(rules: Rules) -> Value {
    let resources = rules.resources.into_iter().map(|rule| {
        let mut value = json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
        if !rule.names.is_empty() {
            value["resourceNames"] = rule.names.into();
        }
        value
    });
    let paths =
        rules.paths.into_iter().map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths}));
    let mut status = json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": paths.collect::<Vec<_>>(),
        "incomplete": rules.incomplete,
    });
    if !rules.error.is_empty() {
        status["evaluationError"] = rules.error.into();
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_incompleteness_are_returned() {
        let mut rules = Rules::everything();
        let all = json!(["*"]);
        let expected = json!({
            "resourceRules": [{"verbs": all, "apiGroups": all, "resources": all}],
            "nonResourceRules": [{"verbs": all, "nonResourceURLs": all}],
            "incomplete": false,
        });
        assert_eq!(listed(rules.clone()), expected);
        rules.extend(Rules { error: "no list".to_owned(), ..Rules::unknown() });
        let status = listed(rules);
        assert_eq!((&status["incomplete"], &status["evaluationError"]), (&true.into(), &"no list".into()));
    }
}
