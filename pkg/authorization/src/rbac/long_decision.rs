//! RBAC decisions for users with so many rules that a scan takes long.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::{Index, Rule, YIELD_AFTER_STRINGS, no_opinion};
use crate::{Attributes, Decision};

/// Snapshot of a user's grants for a namespace.
pub(super) struct LongDecision {
    /// The rules of each binding, with the reason for an allowed request.
    grants: Vec<(Arc<[Rule]>, Arc<str>)>,
    /// The decision if no rule matches.
    default_decision: Decision,
}

impl LongDecision {
    pub(super) fn of(index: &Index, attributes: &Attributes<'_>) -> Self {
        let grants = index.grants(attributes.user, attributes.namespace).filter_map(|grant| {
            let grants = index.rules_of_grant(grant)?;
            Some((Arc::clone(&grants.rules), Arc::clone(&grant.reason)))
        });
        LongDecision { grants: grants.collect(), default_decision: no_opinion(index, attributes) }
    }

    /// Decides like [`decide`](super::decide), and yields to other tasks periodically.
    pub(super) async fn decide(self, attributes: Attributes<'_>) -> Decision {
        let mut texts = 0;
        for (rules, reason) in self.grants {
            for rule in rules.iter() {
                if rule.allows(&attributes) {
                    return Decision::Allow(reason);
                }
                texts += rule.texts();
                if texts > YIELD_AFTER_STRINGS {
                    texts = 0;
                    yield_now().await;
                }
            }
        }
        self.default_decision
    }
}

/// Yields to other tasks.
async fn yield_now() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
