//! Token cache for expensive authenticators: remote calls or costly computation (upstream's
//! `authentication/token/cache`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::request_notes::Notes;
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::Error;
use crate::cache_metrics::TokenCacheMetrics;
use crate::chain::{TokenAuthenticator, TokenOrigin, TokenUser};
use crate::expiring_cache::{ExpiringCache, Key, key};
use crate::fair_share::{FairShare, Slot};

type Outcome = Result<Option<TokenUser>, Error>;

/// A caching authenticator. Concurrent requests with the same token share one call (single-flight). Notes are
/// not cached; the wrapped authenticators write none. Errors are never cached.
pub struct CachedAuthenticator(Arc<Inner>);

struct Inner {
    authenticator: Arc<dyn TokenAuthenticator>,
    /// Cache lifetime of an accepted token.
    success: Duration,
    /// Cache lifetime of a rejected token.
    failure: Duration,
    metrics: Arc<TokenCacheMetrics>,
    cache: ExpiringCache<Option<TokenUser>>,
    in_flight: Mutex<InFlightCalls>,
    calls: FairShare,
}

/// In-flight calls by token and requested audiences.
type InFlightCalls = HashMap<Key, Shared<BoxFuture<'static, Outcome>>>;

impl CachedAuthenticator {
    /// Caches the results of `authenticator`: `success` is the lifetime of accepted tokens, `failure` that of
    /// rejected ones.
    pub fn new(
        authenticator: Arc<dyn TokenAuthenticator>,
        success: Duration,
        failure: Duration,
        metrics: Arc<TokenCacheMetrics>,
    ) -> Self {
        CachedAuthenticator(Arc::new(Inner {
            authenticator,
            success,
            failure,
            metrics,
            cache: ExpiringCache::default(),
            in_flight: Mutex::default(),
            calls: FairShare::default(),
        }))
    }
}

#[async_trait]
impl TokenAuthenticator for CachedAuthenticator {
    async fn authenticate(&self, token: &str, audiences: &[String], notes: &Notes) -> Outcome {
        self.authenticate_from(TokenOrigin::Unknown, token, audiences, notes).await
    }

    async fn authenticate_from(
        &self,
        origin: TokenOrigin<'_>,
        token: &str,
        audiences: &[String],
        _: &Notes,
    ) -> Outcome {
        let key = key(token, audiences.iter().map(String::as_str));
        let start_time = Instant::now();
        if let Some(outcome) = self.0.cache.get(&key) {
            self.0.metrics.hit(start_time);
            return Ok(outcome);
        }
        let _missing = self.0.metrics.miss(start_time);
        let under_way = self.0.in_flight().get(&key).cloned();
        if let Some(flight) = under_way {
            return flight.await;
        }
        let slot = self.0.calls.acquire(origin).await;
        let slot = slot.map_err(|busy| Error::unavailable(busy.to_string()))?;
        // Another request with this token may have finished during the wait.
        if let Some(outcome) = self.0.cache.get(&key) {
            return Ok(outcome);
        }
        let flight = {
            let mut flights = self.0.in_flight();
            let start = || {
                let call = Arc::clone(&self.0);
                call.spawn_authentication(key, token.to_owned(), audiences.to_vec(), slot)
            };
            flights.entry(key).or_insert_with(start).clone()
        };
        flight.await
    }
}

impl Inner {
    fn in_flight(&self) -> MutexGuard<'_, InFlightCalls> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts an authentication. It runs to completion even if all callers are dropped.
    fn spawn_authentication(
        self: Arc<Self>,
        key: Key,
        token: String,
        audiences: Vec<String>,
        slot: Slot,
    ) -> Shared<BoxFuture<'static, Outcome>> {
        let landing = RemoveOnDrop { inner: Arc::clone(&self), key };
        let asking = tokio::spawn(async move {
            let _landing = landing;
            let _slot = slot;
            let judging = self.metrics.begin_authentication();
            let outcome = self.authenticator.authenticate(&token, &audiences, &Notes::default()).await;
            judging.finish(outcome.is_ok());
            if let Ok(outcome) = &outcome {
                let lasts = if outcome.is_some() { self.success } else { self.failure };
                self.cache.insert(key, outcome.clone(), lasts);
            }
            outcome
        });
        let outcome = async move {
            asking.await.unwrap_or_else(|_| Err(Error::unavailable("the token cannot be judged".to_owned())))
        };
        outcome.boxed().shared()
    }
}

/// Removes an in-flight call on drop.
struct RemoveOnDrop {
    inner: Arc<Inner>,
    key: Key,
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.inner.in_flight().remove(&self.key);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use apimachinery::user_info::UserInfo;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::Authenticator;

    /// Authenticator that waits for permits and counts calls. Accepts `good`, fails for `bad`, and never returns
    /// for `endless-…`.
    #[derive(Default)]
    struct Slow {
        calls: AtomicUsize,
        may: Option<Semaphore>,
    }

    #[async_trait]
    impl TokenAuthenticator for Slow {
        async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Outcome {
            self.calls.fetch_add(1, Ordering::SeqCst);
            if let Some(may) = &self.may {
                may.acquire().await.unwrap().forget();
            }
            match token {
                endless if endless.starts_with("endless") => std::future::pending().await,
                "bad" => Err(Error::credential("bad".to_owned())),
                "good" => Ok(Some(TokenUser { user: UserInfo::default(), audiences: Vec::new() })),
                _ => Ok(None),
            }
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    async fn authenticate(cached: &CachedAuthenticator, token: &str) -> Result<bool, Error> {
        cached.authenticate(token, &[], &Notes::default()).await.map(|token_user| token_user.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn results_are_cached_for_their_ttl() {
        let slow = Arc::new(Slow::default());
        let cached = CachedAuthenticator::new(slow.clone(), SECOND * 10, SECOND * 2, Arc::default());
        let check = async |token: &str, expected: Result<bool, &str>, calls: usize| {
            assert_eq!(
                authenticate(&cached, token).await.map_err(|error| error.to_string()),
                expected.map_err(str::to_owned),
                "{token}"
            );
            assert_eq!(slow.calls.load(Ordering::SeqCst), calls, "{token}");
        };
        check("good", Ok(true), 1).await;
        check("good", Ok(true), 1).await;
        check("none", Ok(false), 2).await;
        check("none", Ok(false), 2).await;
        check("bad", Err("bad"), 3).await;
        check("bad", Err("bad"), 4).await;
        tokio::time::advance(SECOND * 5).await;
        check("good", Ok(true), 4).await;
        check("none", Ok(false), 5).await;
        tokio::time::advance(SECOND * 5).await;
        check("good", Ok(true), 6).await;
    }

    #[tokio::test]
    async fn audiences_are_part_of_cache_key() {
        let slow = Arc::new(Slow::default());
        let cached = CachedAuthenticator::new(slow.clone(), SECOND * 10, SECOND, Arc::default());
        for audiences in [["a".to_owned()], ["b".to_owned()]] {
            cached.authenticate("good", &audiences, &Notes::default()).await.unwrap();
        }
        assert_eq!(slow.calls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_tokens_lock_no_other_client_out() {
        let slow = Arc::new(Slow::default());
        let cached = CachedAuthenticator::new(slow.clone(), SECOND, SECOND, Arc::default());
        let from = async |address: [u8; 4], token: String| {
            let origin = TokenOrigin::Client(address.into());
            let outcome = cached.authenticate_from(origin, &token, &[], &Notes::default()).await;
            outcome.map(|token_user| token_user.is_some())
        };
        let flood = (0..2_000).map(|n| from([192, 0, 2, 1], format!("endless-{n}")));
        let user = async {
            tokio::time::sleep(SECOND).await;
            from([192, 0, 2, 2], "good".to_owned()).await
        };
        tokio::select! {
            _ = futures::future::join_all(flood) => panic!("the calls of the flood end"),
            outcome = user => assert_eq!(outcome, Ok(true)),
        }
        assert!(slow.calls.load(Ordering::SeqCst) < 300);
    }

    #[tokio::test(start_paused = true)]
    async fn reviews_of_one_user_delay_no_other() {
        let cached = CachedAuthenticator::new(Arc::new(Slow::default()), SECOND, SECOND, Arc::default());
        let authenticator = Authenticator { tokens: vec![Arc::new(cached)], ..Authenticator::default() };
        let review = async |user: &str, token: String| {
            let reviewer = UserInfo { name: user.to_owned(), ..UserInfo::default() };
            authenticator.review(&reviewer, &token, &[], &Notes::default()).await
        };
        let flood = (0..10_000).map(|n| review("flood", format!("endless-{n}")));
        let other = async {
            tokio::time::sleep(SECOND).await;
            review("system:node:a", "good".to_owned()).await
        };
        tokio::select! {
            _ = futures::future::join_all(flood) => panic!("the calls of the flood end"),
            outcome = other => assert!(outcome.is_ok_and(|token_user| token_user.is_some())),
        }
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_call() {
        let slow = Arc::new(Slow { may: Some(Semaphore::new(0)), ..Slow::default() });
        let cached = CachedAuthenticator::new(slow.clone(), Duration::ZERO, Duration::ZERO, Arc::default());
        let all = futures::future::join_all((0..9).map(|_| authenticate(&cached, "good")));
        let release = async {
            while slow.calls.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            slow.may.as_ref().unwrap().add_permits(1);
        };
        let (results, ()) = tokio::join!(all, release);
        assert!(results.iter().all(|result| *result == Ok(true)));
        assert_eq!(slow.calls.load(Ordering::SeqCst), 1);
        assert!(cached.0.in_flight().is_empty(), "nothing is left of a flight");
    }
}
