//! What is known of tokens, remembered for a while, where finding it out is costly: somebody else is asked, or a
//! lot is computed (upstream's `authentication/token/cache`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::request_notes::Notes;
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::cache_counters::CacheCounters;
use crate::chain::{TokenAuthenticator, TokenUser};
use crate::expiring_cache::{ExpiringCache, Key, key};

/// How many tokens are found out about at the same time; others are refused.
const IN_FLIGHT_MAX: usize = 1024;

type Outcome = Result<Option<TokenUser>, String>;

/// An authenticator with a memory. What it notes about a request is not remembered: those whose answers are, note
/// nothing. Those who come with the same token at the same time wait for one answer.
/// Errors are never remembered.
pub struct Cached(Arc<Inner>);

struct Inner {
    authenticator: Arc<dyn TokenAuthenticator>,
    /// How long it is remembered whom a token stands for.
    success: Duration,
    /// How long it is remembered that a token stands for nobody.
    failure: Duration,
    counters: Arc<CacheCounters>,
    known: ExpiringCache<Option<TokenUser>>,
    flights: Mutex<Flights>,
}

/// By token and the audiences it was shown for.
type Flights = HashMap<Key, Shared<BoxFuture<'static, Outcome>>>;

impl Cached {
    /// Remembers what `authenticator` says: for `success` whom a token stands for, for `failure` that it stands
    /// for nobody.
    pub fn new(
        authenticator: Arc<dyn TokenAuthenticator>,
        success: Duration,
        failure: Duration,
        counters: Arc<CacheCounters>,
    ) -> Self {
        Cached(Arc::new(Inner {
            authenticator,
            success,
            failure,
            counters,
            known: ExpiringCache::default(),
            flights: Mutex::default(),
        }))
    }
}

#[async_trait]
impl TokenAuthenticator for Cached {
    async fn authenticate(&self, token: &str, audiences: &[String], _: &Notes) -> Outcome {
        let key = key(token, audiences.iter().map(String::as_str));
        let began = Instant::now();
        if let Some(outcome) = self.0.known.get(&key) {
            self.0.counters.hit(began);
            return Ok(outcome);
        }
        let _missing = self.0.counters.miss(began);
        let flight = {
            let mut flights = self.0.flights();
            let under_way = flights.get(&key).cloned();
            match under_way {
                Some(flight) => flight,
                None if flights.len() >= IN_FLIGHT_MAX => {
                    return Err("too many tokens are being looked at".to_owned());
                }
                None => {
                    let flight = Arc::clone(&self.0).begin(key, token.to_owned(), audiences.to_vec());
                    flights.insert(key, flight.clone());
                    flight
                }
            }
        };
        flight.await
    }
}

impl Inner {
    fn flights(&self) -> MutexGuard<'_, Flights> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, whether or not somebody goes on waiting for the answer.
    fn begin(
        self: Arc<Self>,
        key: Key,
        token: String,
        audiences: Vec<String>,
    ) -> Shared<BoxFuture<'static, Outcome>> {
        let landing = Landing { inner: Arc::clone(&self), key };
        let asking = tokio::spawn(async move {
            let _landing = landing;
            let judging = self.counters.judge();
            let outcome = self.authenticator.authenticate(&token, &audiences, &Notes::default()).await;
            judging.ended(outcome.is_ok());
            if let Ok(outcome) = &outcome {
                let lasts = if outcome.is_some() { self.success } else { self.failure };
                self.known.learn(key, outcome.clone(), lasts);
            }
            outcome
        });
        let outcome =
            async move { asking.await.unwrap_or_else(|_| Err("the token cannot be judged".to_owned())) };
        outcome.boxed().shared()
    }
}

/// Ends a flight, however it ends.
struct Landing {
    inner: Arc<Inner>,
    key: Key,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.inner.flights().remove(&self.key);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use apimachinery::user_info::UserInfo;
    use tokio::sync::Semaphore;

    use super::*;

    /// Answers when it may, and counts how often it was asked. Knows `good`, errs about `bad`.
    #[derive(Default)]
    struct Slow {
        asked: AtomicUsize,
        may: Option<Semaphore>,
    }

    #[async_trait]
    impl TokenAuthenticator for Slow {
        async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Outcome {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if let Some(may) = &self.may {
                may.acquire().await.unwrap().forget();
            }
            match token {
                "bad" => Err("bad".to_owned()),
                "good" => Ok(Some(TokenUser { user: UserInfo::default(), audiences: Vec::new() })),
                _ => Ok(None),
            }
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    async fn ask(cached: &Cached, token: &str) -> Result<bool, String> {
        cached.authenticate(token, &[], &Notes::default()).await.map(|found| found.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_remembered_as_long_as_its_kind_is() {
        let slow = Arc::new(Slow::default());
        let cached = Cached::new(slow.clone(), SECOND * 10, SECOND * 2, Arc::default());
        let check = async |token: &str, expected: Result<bool, &str>, asked: usize| {
            assert_eq!(ask(&cached, token).await, expected.map_err(str::to_owned), "{token}");
            assert_eq!(slow.asked.load(Ordering::SeqCst), asked, "{token}");
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
    async fn one_token_for_two_audiences_is_two_questions() {
        let slow = Arc::new(Slow::default());
        let cached = Cached::new(slow.clone(), SECOND * 10, SECOND, Arc::default());
        for audiences in [["a".to_owned()], ["b".to_owned()]] {
            cached.authenticate("good", &audiences, &Notes::default()).await.unwrap();
        }
        assert_eq!(slow.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn who_comes_with_the_same_token_waits_for_the_same_answer() {
        let slow = Arc::new(Slow { may: Some(Semaphore::new(0)), ..Slow::default() });
        let cached = Cached::new(slow.clone(), Duration::ZERO, Duration::ZERO, Arc::default());
        let all = futures::future::join_all((0..9).map(|_| ask(&cached, "good")));
        let release = async {
            while slow.asked.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            slow.may.as_ref().unwrap().add_permits(1);
        };
        let (answers, ()) = tokio::join!(all, release);
        assert!(answers.iter().all(|answer| *answer == Ok(true)));
        assert_eq!(slow.asked.load(Ordering::SeqCst), 1);
        assert!(cached.0.flights().is_empty(), "nothing is left of a flight");
    }
}
