//! Decisions about users who have been given so many rules that looking at all of them takes long.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::{Index, Rule, YIELD_AFTER_STRINGS, no_opinion};
use crate::{Attributes, Decision};

/// What a user has been given that counts in a namespace, as it was at one time.
pub(super) struct LongDecision {
    /// The rules of each binding, and what is said of a request that they let pass.
    granted: Vec<(Arc<[Rule]>, Arc<str>)>,
    /// What is decided if none does.
    otherwise: Decision,
}

impl LongDecision {
    pub(super) fn of(index: &Index, attributes: &Attributes<'_>) -> Self {
        let granted = index.grants(attributes.user, attributes.namespace).filter_map(|grant| {
            let granted = index.granted(grant)?;
            Some((Arc::clone(&granted.rules), Arc::clone(&grant.reason)))
        });
        LongDecision { granted: granted.collect(), otherwise: no_opinion(index, attributes) }
    }

    /// Decides as [`decide`](super::decide) does, and gives way to others now and then.
    pub(super) async fn decide(self, attributes: Attributes<'_>) -> Decision {
        let mut texts = 0;
        for (rules, reason) in self.granted {
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
        self.otherwise
    }
}

/// Lets other tasks have their turn.
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
