//! Union of several authorizers.

use std::collections::HashSet;
use std::sync::Arc;
use std::{fmt, mem};

use apimachinery::user_info::UserInfo;
use async_trait::async_trait;

use crate::metrics::Series;
use crate::{Attributes, Authorizer, AuthorizerError, Decision, Rules};

/// A member of a union.
#[derive(Clone)]
pub struct Member {
    /// The name from the configuration. It precedes the reason of a denial.
    pub name: String,
    pub authorizer: Arc<dyn Authorizer>,
    /// Metrics of its decisions, if recorded.
    pub series: Option<Arc<Series>>,
}

/// Runs several authorizers in order. The first one with an opinion decides. Without one, reasons are joined,
/// one per line after the name of their authorizer, and so are errors.
pub struct Union(Vec<Member>);

impl Union {
    pub fn new(members: Vec<Member>) -> Self {
        Union(members)
    }
}

#[async_trait]
impl Authorizer for Union {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let mut reasons = Vec::new();
        let mut errors = Vec::new();
        for Member { name, authorizer, series } in &self.0 {
            let decision = authorizer.decide(attributes).await;
            if let Some(series) = series {
                series.decided(&decision);
            }
            match decision {
                Decision::NoOpinion(reason) => reasons.extend(named_reason(name, &reason)),
                Decision::Failed(AuthorizerError { denied: false, reason, error }) => {
                    reasons.extend(named_reason(name, &reason));
                    errors.push(error);
                }
                opinion => return opinion,
            }
        }
        let reason = reasons.join("\n");
        match aggregate(errors) {
            None => Decision::NoOpinion(reason),
            Some(error) => Decision::Failed(AuthorizerError { denied: false, reason, error }),
        }
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        let mut all = Rules::default();
        let mut errors = Vec::new();
        for Member { authorizer, .. } in &self.0 {
            let mut rules = authorizer.rules(user, namespace).await;
            errors.push(mem::take(&mut rules.error));
            all.extend(rules);
        }
        errors.retain(|error| !error.is_empty());
        all.error = aggregate(errors).unwrap_or_default();
        all
    }
}

impl fmt::Debug for Union {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Union").field(&self.0.len()).finish()
    }
}

/// Returns the reason after the name of its authorizer, or `None` for an empty reason.
fn named_reason(name: &str, reason: &str) -> Option<String> {
    (!reason.is_empty()).then(|| format!("{name}: {reason}"))
}

/// Joins errors as upstream does, without duplicates.
fn aggregate(mut errors: Vec<String>) -> Option<String> {
    let mut seen = HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    match errors.len() {
        0 => None,
        1 => errors.pop(),
        _ => Some(format!("[{}]", errors.join(", "))),
    }
}
