//! `Impersonate-*` headers: acting as someone else, once the authorizer has allowed every part of it
//! (KEP-5284, and the unconstrained impersonation of old).
//!
//! [`Impersonation::actor`] is the only way to an [`Actor`], so whatever is done in the name of one is
//! done for its own sender or after a yes.

mod mode;
mod requested_user;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use http::HeaderMap;

use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use authentication::Authenticated;
use authorization::Authorizer;
use component_base::features::{Gate, Gates};
use tokio::time::Instant;

use crate::metrics::{Filter, Impersonations};

use mode::ImpersonationRequest;
pub(crate) use mode::Mode;
use requested_user::RequestedUser;

/// How many users' last modes are remembered, 4 bytes each.
const REMEMBERED: usize = 4096;

/// For whom a request is carried out: its sender, or someone whom the sender may act as.
#[derive(Debug)]
pub(crate) enum EffectiveUser {
    /// The sender.
    Sender(Authenticated),
    /// Someone else, whom the authorizer lets the sender be.
    Other {
        /// Who that is.
        user: UserInfo,
        /// The verb of the right by which the sender may; empty for the old one.
        constraint: &'static str,
    },
}

impl EffectiveUser {
    /// Who it is.
    pub(crate) fn user(&self) -> &UserInfo {
        match self {
            EffectiveUser::Sender(sender) => sender.user(),
            EffectiveUser::Other { user, .. } => user,
        }
    }

    /// Who it is, to be handed on.
    pub(crate) fn into_user(self) -> UserInfo {
        match self {
            EffectiveUser::Sender(sender) => sender.into_user(),
            EffectiveUser::Other { user, .. } => user,
        }
    }
}

/// Decides about impersonation, and remembers by which mode each sender was last allowed to.
///
/// That mode is tried first, and its refusal is the one that is told. So a sender with rights of the old
/// kind is refused in the old words, as upstream does. The memory is a table by hash: senders who share
/// a slot displace each other, which costs order, never access.
pub(crate) struct Impersonation {
    /// Those that are tried, in order.
    modes: &'static [Mode],
    last: Box<[AtomicU32]>,
}

impl Impersonation {
    /// With nothing to remember yet. Rights of the newer kinds count while their gate is open.
    pub(crate) fn new(gates: &Gates) -> Self {
        let modes: &'static [Mode] =
            if gates.enabled(Gate::ConstrainedImpersonation) { &Mode::ALL } else { &[Mode::Legacy] };
        Impersonation { modes, last: (0..REMEMBERED).map(|_| AtomicU32::new(0)).collect() }
    }

    /// What it is called where steps of the chain are timed.
    pub(crate) fn filter(&self) -> Filter {
        if self.modes.len() > 1 { Filter::ConstrainedImpersonation } else { Filter::Impersonation }
    }

    /// For whom a request is carried out. Headers that named someone else are taken off, so that nothing
    /// behind can treat the request differently for them. What was decided is counted in `figures`.
    ///
    /// # Errors
    /// 400 for headers that want groups, a uid or extras of nobody; 403 for a sender who may not.
    pub(crate) async fn actor(
        &self,
        headers: &mut HeaderMap,
        sender: Authenticated,
        info: &RequestInfo,
        authorizer: &dyn Authorizer,
        figures: &Impersonations,
    ) -> Result<EffectiveUser, Box<Status>> {
        let Some(wanted) = RequestedUser::take(headers)? else { return Ok(EffectiveUser::Sender(sender)) };
        let attempt =
            ImpersonationRequest { sender: sender.user(), wanted: &wanted, info, authorizer, figures };
        let began = Instant::now();
        let last = self.recall(&sender.user().name);
        let others = self.modes.iter().copied().filter(|mode| Some(*mode) != last);
        let mut refusal = None;
        for mode in last.into_iter().chain(others) {
            match mode.check(&attempt).await {
                Ok(None) => {}
                Ok(Some(user)) => {
                    self.remember(&sender.user().name, mode);
                    figures.attempt(Some(mode), began.elapsed());
                    tracing::debug!(sender = sender.user().name, user = user.name, "impersonation");
                    return Ok(EffectiveUser::Other { user, constraint: mode.constraint() });
                }
                Err(status) => refusal = refusal.or(Some(status)),
            }
        }
        figures.attempt(None, began.elapsed());
        // The last mode applies to every request, so that there is a refusal if there was no yes.
        Err(refusal.unwrap_or_else(|| Box::new(Status::internal_error("all impersonation modes failed"))))
    }

    /// The mode that was last remembered for `name`.
    fn recall(&self, name: &str) -> Option<Mode> {
        let (slot, tag) = self.slot(name)?;
        let value = slot.load(Relaxed);
        let mode = Mode::ALL.get((value & 0xff).checked_sub(1)? as usize)?;
        (value & !0xff == tag).then_some(*mode)
    }

    fn remember(&self, name: &str, mode: Mode) {
        let index = (1_u32..).zip(Mode::ALL).find(|(_, other)| *other == mode);
        if let (Some((slot, tag)), Some((index, _))) = (self.slot(name), index) {
            slot.store(tag | index, Relaxed);
        }
    }

    /// Where a name is remembered, and the 24 bits that tell it from others in the same place.
    fn slot(&self, name: &str) -> Option<(&AtomicU32, u32)> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = hasher.finish();
        let slot = self.last.get(hash as usize % REMEMBERED)?;
        Some((slot, (hash >> 32) as u32 & !0xff))
    }
}

#[cfg(test)]
mod tests;
