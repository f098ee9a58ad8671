//! `Impersonate-*` headers: acts as another user after the authorizer has allowed every part (KEP-5284, and
//! the older unconstrained impersonation).
//!
//! Only [`Impersonation::actor`] creates an [`EffectiveUser`]. So every action is for the authenticated user or was
//! explicitly allowed.

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

/// Size of the table of last used modes, at 4 bytes per user.
const CACHE_SLOTS: usize = 4096;

/// Effective user of a request: the authenticated user or an impersonated one.
#[derive(Debug)]
pub(crate) enum EffectiveUser {
    /// The authenticated user.
    Sender(Authenticated),
    /// An impersonated user, allowed by the authorizer.
    Other {
        user: UserInfo,
        /// Verb of the permission; empty for unconstrained impersonation.
        constraint: &'static str,
    },
}

impl EffectiveUser {
    pub(crate) fn user(&self) -> &UserInfo {
        match self {
            EffectiveUser::Sender(sender) => sender.user(),
            EffectiveUser::Other { user, .. } => user,
        }
    }

    pub(crate) fn into_user(self) -> UserInfo {
        match self {
            EffectiveUser::Sender(sender) => sender.into_user(),
            EffectiveUser::Other { user, .. } => user,
        }
    }
}

/// Authorizes impersonation and caches the last allowed mode of each user.
///
/// The cached mode is tried first, and its denial is the one that is returned. So a user with the older kind
/// of permission gets the older error text, as in upstream. The cache is a hash table without chaining: users
/// with the same slot evict each other, which affects the order of the checks but never access.
pub(crate) struct Impersonation {
    /// Modes in order of the checks.
    modes: &'static [Mode],
    last: Box<[AtomicU32]>,
}

impl Impersonation {
    /// Creates an empty cache. Modes of newer kinds are enabled by their gate.
    pub(crate) fn new(gates: &Gates) -> Self {
        let modes: &'static [Mode] =
            if gates.enabled(Gate::ConstrainedImpersonation) { &Mode::ALL } else { &[Mode::Legacy] };
        Impersonation { modes, last: (0..CACHE_SLOTS).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Name of the step in metrics.
    pub(crate) fn filter(&self) -> Filter {
        if self.modes.len() > 1 { Filter::ConstrainedImpersonation } else { Filter::Impersonation }
    }

    /// Returns the effective user and removes the impersonation headers, so that later steps cannot depend on
    /// them. Counts the decision in `metrics`.
    ///
    /// # Errors
    /// 400 for headers with groups, a uid or extras but no user; 403 for a user without permission.
    pub(crate) async fn actor(
        &self,
        headers: &mut HeaderMap,
        sender: Authenticated,
        info: &RequestInfo,
        authorizer: &dyn Authorizer,
        metrics: &Impersonations,
    ) -> Result<EffectiveUser, Box<Status>> {
        let Some(requested) = RequestedUser::extract(headers)? else {
            return Ok(EffectiveUser::Sender(sender));
        };
        let attempt =
            ImpersonationRequest { sender: sender.user(), requested: &requested, info, authorizer, metrics };
        let start = Instant::now();
        let last = self.cached_mode(&sender.user().name);
        let other_modes = self.modes.iter().copied().filter(|mode| Some(*mode) != last);
        let mut rejection = None;
        for mode in last.into_iter().chain(other_modes) {
            match mode.check(&attempt).await {
                Ok(None) => {}
                Ok(Some(user)) => {
                    self.cache_mode(&sender.user().name, mode);
                    metrics.attempt(Some(mode), start.elapsed());
                    tracing::debug!(sender = sender.user().name, user = user.name, "impersonation");
                    return Ok(EffectiveUser::Other { user, constraint: mode.constraint() });
                }
                Err(status) => rejection = rejection.or(Some(status)),
            }
        }
        metrics.attempt(None, start.elapsed());
        // The last mode applies to every request, so there is a denial if no mode allowed it.
        Err(rejection.unwrap_or_else(|| Box::new(Status::internal_error("all impersonation modes failed"))))
    }

    /// Returns the cached mode of `name`.
    fn cached_mode(&self, name: &str) -> Option<Mode> {
        let (slot, tag) = self.slot(name)?;
        let value = slot.load(Relaxed);
        let mode = Mode::ALL.get((value & 0xff).checked_sub(1)? as usize)?;
        (value & !0xff == tag).then_some(*mode)
    }

    fn cache_mode(&self, name: &str, mode: Mode) {
        let index = (1_u32..).zip(Mode::ALL).find(|(_, candidate)| *candidate == mode);
        if let (Some((slot, tag)), Some((index, _))) = (self.slot(name), index) {
            slot.store(tag | index, Relaxed);
        }
    }

    /// Slot of a name, with the 24-bit tag that distinguishes it from other names in the slot.
    fn slot(&self, name: &str) -> Option<(&AtomicU32, u32)> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = hasher.finish();
        let slot = self.last.get(hash as usize % CACHE_SLOTS)?;
        Some((slot, (hash >> 32) as u32 & !0xff))
    }
}

#[cfg(test)]
mod tests;
