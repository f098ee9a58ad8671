//! The `authorizer` library.

use super::Context;
use crate::arena::Outcome;
use crate::overloads::Overload;
use crate::value::{Check, Decision, Opaque, Value};

impl<'a> Context<'a, '_> {
    /// Runs functions of the authorizer and its checks.
    pub(super) fn authorize(
        self,
        overload: Overload,
        opaque: &'a Opaque<'a>,
        args: &[Value<'a>],
    ) -> Outcome<'a> {
        use Overload::*;
        let text = match args.get(1) {
            Some(Value::String(text)) => *text,
            _ => "",
        };
        let blank = text.trim().is_empty();
        match (overload, *opaque) {
            (AuthorizerPath, Opaque::Authorizer(_)) if blank => Ok(Value::Error("path must not be empty")),
            (AuthorizerPath, Opaque::Authorizer(check)) => {
                self.arena.opaque(Opaque::PathCheck(Check { path: text, ..check }))
            }
            (AuthorizerGroup, Opaque::Authorizer(check)) => {
                self.arena.opaque(Opaque::GroupCheck(Check { group: text, ..check }))
            }
            (AuthorizerServiceaccount, Opaque::Authorizer(check)) => self.service_account(check, text, args),
            (GroupcheckResource, Opaque::GroupCheck(_)) if blank => {
                Ok(Value::Error("resource must not be empty"))
            }
            (GroupcheckResource, Opaque::GroupCheck(check)) => {
                self.arena.opaque(Opaque::ResourceCheck(Check { resource: text, ..check }))
            }
            (PathcheckCheck, Opaque::PathCheck(check))
            | (ResourcecheckCheck, Opaque::ResourceCheck(check)) => self.decide(check, text),
            (_, Opaque::ResourceCheck(check)) => {
                let check = match overload {
                    ResourcecheckSubresource => Check { subresource: text, ..check },
                    ResourcecheckNamespace => Check { namespace: text, ..check },
                    ResourcecheckName => Check { name: text, ..check },
                    AuthorizerFieldselector => Check { field_selector: text, ..check },
                    AuthorizerLabelselector => Check { label_selector: text, ..check },
                    _ => return Ok(Value::NO_SUCH_OVERLOAD),
                };
                self.arena.opaque(Opaque::ResourceCheck(check))
            }
            (_, Opaque::Decision(decision)) => Ok(match overload {
                DecisionAllowed => Value::Bool(decision.allowed),
                DecisionReason => Value::String(decision.reason),
                DecisionErrored => Value::Bool(decision.error.is_some()),
                DecisionError => Value::String(decision.error.unwrap_or("")),
                _ => Value::NO_SUCH_OVERLOAD,
            }),
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    fn service_account(self, check: Check<'a>, namespace: &'a str, args: &[Value<'a>]) -> Outcome<'a> {
        let Some(Value::String(name)) = args.get(2) else { return Ok(Value::NO_SUCH_OVERLOAD) };
        if !apimachinery::names::name_is_dns_subdomain(name, false).is_empty() {
            return Ok(Value::Error("Invalid service account name"));
        }
        if !apimachinery::names::name_is_dns_label(namespace, false).is_empty() {
            return Ok(Value::Error("Invalid service account namespace"));
        }
        self.arena.opaque(Opaque::Authorizer(Check { service_account: Some((namespace, name)), ..check }))
    }

    fn decide(self, check: Check<'a>, verb: &str) -> Outcome<'a> {
        let verdict = check.authorizer.authorize(&check, verb);
        let error = verdict.error.map(|error| self.arena.text(&error)).transpose()?;
        let reason = self.arena.text(&verdict.reason)?;
        self.arena.opaque(Opaque::Decision(Decision { allowed: verdict.allowed, reason, error }))
    }
}
