//! Maps the claims of a verified token to a user. Performs no I/O.

use apimachinery::go_json::kind_of;
use apimachinery::user_info::UserInfo;
use cel::arena::Arena;
use cel::value::Value;
use jsontree::{Number, Object, Value as Json};

use super::config::JwtAuthenticator;
use super::expressions::Expression;
use crate::{EXTRA_CREDENTIAL_ID, Error};

/// The claims of a token by name.
pub(super) type Claims = Object;

/// The compiled expressions of an issuer.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    pub(super) username: Option<Expression>,
    pub(super) groups: Option<Expression>,
    pub(super) uid: Option<Expression>,
    /// By key.
    pub(super) extra: Vec<(String, Expression)>,
    /// Rules with the message for a failure.
    pub(super) claim_rules: Vec<(Expression, String)>,
    pub(super) user_rules: Vec<(Expression, String)>,
}

/// Claim mapping and rules of an issuer.
#[derive(Debug)]
pub(super) struct ClaimMapper {
    pub(super) config: JwtAuthenticator,
    pub(super) expressions: Expressions,
}

const NO_LIST: &str = "expression must return a string or a list of strings";

impl ClaimMapper {
    /// Maps claims to a user.
    ///
    /// # Errors
    /// Upstream's message. It contains names of claims, and values only where upstream shows them.
    pub(super) fn user(&self, claims: &Claims) -> Result<UserInfo, Error> {
        let seen = with_go_numbers(claims);
        let user = UserInfo {
            name: self.username(claims, &seen)?,
            groups: self.groups(claims, &seen)?,
            uid: self.uid(claims, &seen)?,
            extra: self.extra(claims, &seen)?.into_iter().collect(),
        };
        self.check_required(claims)?;
        check(&self.expressions.claim_rules, &seen)
            .map_err(|error| error.context("oidc: error evaluating claim validation expression"))?;
        if !self.expressions.user_rules.is_empty() {
            check(&self.expressions.user_rules, &as_data(&user))
                .map_err(|error| error.context("oidc: error evaluating user info validation rule"))?;
        }
        Ok(user)
    }

    fn username(&self, claims: &Claims, seen: &Claims) -> Result<String, Error> {
        let context = |error: Error| error.context("oidc: error evaluating username claim expression");
        if let Some(expression) = &self.expressions.username {
            return match expression.run(seen, &Arena::new()).map_err(context)? {
                Value::String("") => Err(Error::credential(
                    "oidc: empty username via CEL expression is not allowed".to_owned(),
                )),
                Value::String(name) => Ok(name.to_owned()),
                _ => Err(context(Error::credential(
                    "username claim expression must return a string".to_owned(),
                ))),
            };
        }
        let mapping = &self.config.claim_mappings.username;
        let claim = mapping.claim.as_str();
        let name = text(claims, claim)
            .map_err(|error| error.context(format!("oidc: parse username claims {}", quoted(claim))))?;
        if claim == "email" {
            match claims.get("email_verified") {
                None | Some(Json::Bool(true)) => {}
                Some(Json::Bool(false) | Json::Null) => {
                    return Err(Error::credential("oidc: email not verified".to_owned()));
                }
                Some(other) => {
                    return Err(mistyped(other, "bool").context("oidc: parse 'email_verified' claim"));
                }
            }
        }
        Ok(format!("{}{name}", mapping.prefix.as_deref().unwrap_or_default()))
    }

    fn groups(&self, claims: &Claims, seen: &Claims) -> Result<Vec<String>, Error> {
        let mapping = &self.config.claim_mappings.groups;
        if let Some(value) = claims.get(&mapping.claim).filter(|_| !mapping.claim.is_empty()) {
            let groups = one_or_many(value).map_err(|error| {
                error.context(format!("oidc: parse groups claim {}", quoted(&mapping.claim)))
            })?;
            let prefix = mapping.prefix.as_deref().unwrap_or_default();
            return Ok(groups.into_iter().map(|group| format!("{prefix}{group}")).collect());
        }
        let Some(expression) = &self.expressions.groups else { return Ok(Vec::new()) };
        let arena = Arena::new();
        expression
            .run(seen, &arena)
            .and_then(texts)
            .map_err(|error| error.context("oidc: error evaluating group claim expression"))
    }

    fn uid(&self, claims: &Claims, seen: &Claims) -> Result<String, Error> {
        let claim = &self.config.claim_mappings.uid.claim;
        if !claim.is_empty() {
            return text(claims, claim)
                .map(str::to_owned)
                .map_err(|error| error.context(format!("oidc: parse uid claim {}", quoted(claim))));
        }
        let Some(expression) = &self.expressions.uid else { return Ok(String::new()) };
        let context = |error: Error| error.context("oidc: error evaluating uid claim expression");
        match expression.run(seen, &Arena::new()).map_err(context)? {
            Value::String(uid) => Ok(uid.to_owned()),
            _ => Err(context(Error::credential("uid claim expression must return a string".to_owned()))),
        }
    }

    fn extra(&self, claims: &Claims, seen: &Claims) -> Result<Vec<(String, Vec<String>)>, Error> {
        let mut extra = Vec::new();
        if let Some(id) = claims.get("jti").and_then(Json::as_str).filter(|id| !id.is_empty()) {
            extra.push((EXTRA_CREDENTIAL_ID.to_owned(), vec![format!("JTI={id}")]));
        }
        let mut arena = Arena::new();
        for (key, expression) in &self.expressions.extra {
            let context = |error: Error| {
                error.context(format!("oidc: error evaluating extra claim expression: {}", expression.text()))
            };
            let values = texts(expression.run(seen, &arena)?).map_err(context)?;
            if !values.is_empty() {
                extra.push((key.clone(), values));
            }
            arena.reset();
        }
        Ok(extra)
    }

    fn check_required(&self, claims: &Claims) -> Result<(), Error> {
        for rule in self.config.claim_validation_rules.iter().filter(|rule| !rule.claim.is_empty()) {
            let claim = &rule.claim;
            let expected = &rule.required_value;
            if !claims.contains_key(claim) {
                return Err(Error::credential(format!(
                    "oidc: required claim {claim} not present in ID token"
                )));
            }
            let actual =
                text(claims, claim).map_err(|error| error.context(format!("oidc: parse claim {claim}")))?;
            if actual != expected {
                return Err(Error::credential(format!(
                    "oidc: required claim {claim} value does not match. Got = {actual}, want = {expected}"
                )));
            }
        }
        Ok(())
    }
}

/// Checks that all rules hold.
fn check(rules: &[(Expression, String)], data: &Claims) -> Result<(), Error> {
    let mut arena = Arena::new();
    let mut failed = None;
    // All rules run before a failure is reported, because evaluation errors take precedence.
    for (expression, message) in rules {
        match expression.run(data, &arena)? {
            Value::Bool(true) => {}
            Value::Bool(false) => {
                let text = || format!("validation expression '{}' failed: {message}", expression.text());
                failed.get_or_insert_with(text);
            }
            _ => {
                failed.get_or_insert_with(|| "validation expression must return a boolean".to_owned());
            }
        }
        arena.reset();
    }
    failed.map_or(Ok(()), |text| Err(Error::credential(text)))
}

/// Converts numbers to floating point, as in Go's `any`.
fn with_go_numbers(claims: &Claims) -> Claims {
    fn convert(value: &Json) -> Json {
        match value {
            Json::Number(number) => {
                let float = number.as_f64().and_then(Number::from_f64);
                float.map_or_else(|| value.clone(), Json::Number)
            }
            Json::Array(items) => items.iter().map(convert).collect(),
            Json::Object(members) => {
                Json::Object(members.iter().map(|(name, value)| (name.clone(), convert(value))).collect())
            }
            other => other.clone(),
        }
    }
    claims.iter().map(|(name, value)| (name.clone(), convert(value))).collect()
}

/// Converts a user to data for expressions.
fn as_data(user: &UserInfo) -> Claims {
    let extra: Object = user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into())).collect();
    let members = [
        ("username", Json::from(user.name.as_str())),
        ("uid", Json::from(user.uid.as_str())),
        ("groups", Json::from(user.groups.clone())),
        ("extra", Json::Object(extra)),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Reads a string, a list of strings or null. Drops empty strings.
fn texts(value: Value<'_>) -> Result<Vec<String>, Error> {
    let values = match value {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => vec![text.to_owned()],
        Value::List(list) => {
            let mut values = Vec::with_capacity(list.len());
            for place in 0..list.len() {
                match list.get(place) {
                    Some(Value::String(text)) => values.push(text.to_owned()),
                    _ => return Err(Error::credential(NO_LIST.to_owned())),
                }
            }
            values
        }
        _ => return Err(Error::credential(NO_LIST.to_owned())),
    };
    Ok(values.into_iter().filter(|text| !text.is_empty()).collect())
}

/// Reads a claim that must be a string.
fn text<'c>(claims: &'c Claims, claim: &str) -> Result<&'c str, Error> {
    match claims.get(claim) {
        None => Err(Error::credential("claim not present".to_owned())),
        Some(Json::String(text)) => Ok(text),
        Some(Json::Null) => Ok(""),
        Some(other) => Err(mistyped(other, "string")),
    }
}

/// Reads a claim that is a string or a list of strings.
pub(super) fn one_or_many(value: &Json) -> Result<Vec<String>, Error> {
    let of_list = |item: &Json| match item {
        Json::String(text) => Some(text.to_string()),
        Json::Null => Some(String::new()),
        _ => None,
    };
    match value {
        Json::Null => Ok(Vec::new()),
        Json::String(text) => Ok(vec![text.to_string()]),
        Json::Array(items) => {
            items.iter().map(of_list).collect::<Option<_>>().ok_or_else(|| mistyped(value, "string"))
        }
        other => Err(mistyped(other, "string")),
    }
}

fn mistyped(value: &Json, go_type: &str) -> Error {
    let json_kind = kind_of(value);
    Error::credential(format!("json: cannot unmarshal {json_kind} into Go value of type {go_type}"))
}

fn quoted(text: &str) -> String {
    apimachinery::go_quote::quote(text)
}

#[cfg(test)]
mod tests;
