//! Health checks of plugins, with cached results.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use encryption::Error;
use tokio::time::Instant;

use crate::single_flight::SingleFlight;

/// Lifetimes of a successful and of a failed result (upstream's values).
const HEALTHY_TTL: Duration = Duration::from_secs(20);
const UNHEALTHY_TTL: Duration = Duration::from_secs(3);

/// Reason for an unhealthy plugin.
pub(crate) struct Unhealthy {
    error: Error,
    /// The call that failed. `None` if the plugin reported the problem itself.
    call: Option<&'static str>,
}

impl Unhealthy {
    /// A problem that the plugin reported in a successful call.
    pub(crate) fn from_plugin(error: Error) -> Self {
        Unhealthy { error, call: None }
    }

    /// A failed call.
    pub(crate) fn of(call: &'static str, error: Error) -> Self {
        Unhealthy { error, call: Some(call) }
    }
}

/// Last health result of a plugin.
pub(crate) struct Health {
    /// Name of the provider.
    name: Arc<str>,
    last: Mutex<Option<(Instant, Result<(), Error>)>>,
    check_in_flight: SingleFlight<(), ()>,
}

impl Health {
    pub(crate) fn new(name: &Arc<str>) -> Self {
        Health { name: Arc::clone(name), last: Mutex::default(), check_in_flight: SingleFlight::default() }
    }

    /// Checks the health of the plugin. Uses the last result while it is recent; otherwise runs `probe`, which
    /// concurrent callers share. A fresh failure names the failed call and a cached one does not, like
    /// upstream's.
    ///
    /// # Errors
    /// The reason why the plugin is unhealthy.
    pub(crate) async fn check(
        self: &Arc<Self>,
        probe: impl Future<Output = Result<(), Unhealthy>> + Send + 'static,
    ) -> Result<(), Error> {
        if let Some(result) = self.recent() {
            return result;
        }
        let health = Arc::clone(self);
        let probe = async move { health.record(probe.await) };
        self.check_in_flight.join((), probe).await
    }

    fn last(&self) -> MutexGuard<'_, Option<(Instant, Result<(), Error>)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> Option<Result<(), Error>> {
        let last = self.last();
        let (at, result) = last.as_ref()?;
        let ttl = if result.is_ok() { HEALTHY_TTL } else { UNHEALTHY_TTL };
        (at.elapsed() < ttl).then(|| result.clone())
    }

    fn record(&self, result: Result<(), Unhealthy>) -> Result<(), Error> {
        let cached = result.as_ref().map_or_else(|unhealthy| Err(unhealthy.error.clone()), |()| Ok(()));
        *self.last() = Some((Instant::now(), cached));
        result.map_err(|Unhealthy { error, call }| match call {
            None => error,
            Some(call) => error.context(&format!(
                "failed to perform {call} section of the healthz check for KMS Provider {}, error",
                self.name
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_result_expires_sooner() {
        let health = Arc::new(Health::new(&"p".into()));
        let probes = Arc::new(AtomicUsize::new(0));
        let check = |result: Result<(), &'static str>| {
            let probes = Arc::clone(&probes);
            let probe = async move {
                probes.fetch_add(1, Relaxed);
                result.map_err(|text| Unhealthy::of("status", Error::new(text)))
            };
            let health = Arc::clone(&health);
            async move { health.check(probe).await.map_err(|error| error.to_string()) }
        };
        assert_eq!(check(Ok(())).await, Ok(()));
        tokio::time::advance(Duration::from_secs(19)).await;
        assert_eq!(check(Err("ill")).await, Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        let expected = "failed to perform status section of the healthz check for KMS Provider p, error: ill";
        assert_eq!(check(Err("ill")).await, Err(expected.to_owned()));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(check(Ok(())).await, Err("ill".to_owned()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(check(Ok(())).await, Ok(()));
        assert_eq!(probes.load(Relaxed), 3);
    }
}
