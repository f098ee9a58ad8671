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
    pub authorizer: Arc<dyn Authorizer>,
    /// Metrics of its decisions, if recorded.
    pub series: Option<Arc<Series>>,
}

/// Runs several authorizers in order. The first one with an opinion decides. Without one, reasons are joined,
/// one per line, and so are errors.
pub struct Union(Vec<Member>);

impl Union {
    /// Creates a union without metrics.
    pub fn new(authorizers: Vec<Arc<dyn Authorizer>>) -> Self {
        let member = |authorizer| Member { authorizer, series: None };
        Union(authorizers.into_iter().map(member).collect())
    }

    pub fn of_members(members: Vec<Member>) -> Self {
        Union(members)
    }
}

#[async_trait]
impl Authorizer for Union {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let mut reasons = Vec::new();
        let mut errors = Vec::new();
        for Member { authorizer, series } in &self.0 {
            let decision = authorizer.decide(attributes).await;
            if let Some(series) = series {
                series.decided(&decision);
            }
            match decision {
                Decision::NoOpinion(reason) => reasons.push(reason),
                Decision::Failed(AuthorizerError { denied: false, reason, error }) => {
                    reasons.push(reason);
                    errors.push(error);
                }
                opinion => return opinion,
            }
        }
        reasons.retain(|reason| !reason.is_empty());
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
