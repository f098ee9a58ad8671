//! Single-flight: concurrent callers with the same key share one call.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use encryption::Error;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

type Work<V> = BoxFuture<'static, Result<V, Error>>;

/// In-flight calls by key (single-flight). Any waiter can drive the call. The call is dropped with its last
/// waiter.
pub(crate) struct SingleFlight<K, V: Clone>(Arc<Mutex<HashMap<K, WeakShared<Work<V>>>>>);

impl<K, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        SingleFlight(Arc::default())
    }
}

/// Removes the call from the map when it is finished or dropped.
struct RemoveOnDrop<K: Eq + Hash, V: Clone>(Arc<Mutex<HashMap<K, WeakShared<Work<V>>>>>, K);

impl<K: Eq + Hash, V: Clone> Drop for RemoveOnDrop<K, V> {
    fn drop(&mut self) {
        // If the call was dropped, another may have started for the same key. This removes that entry, so the
        // newer call is not shared further.
        locked(&self.0).remove(&self.1);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K, V> SingleFlight<K, V>
where
    K: Copy + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Joins the in-flight call for `key`, or starts one.
    pub(crate) fn join(
        &self,
        key: K,
        work: impl Future<Output = Result<V, Error>> + Send + 'static,
    ) -> Shared<Work<V>> {
        let mut flights = locked(&self.0);
        if let Some(flight) = flights.get(&key).and_then(WeakShared::upgrade) {
            return flight;
        }
        let landing = RemoveOnDrop(Arc::clone(&self.0), key);
        let flight = async move {
            let _landing = landing;
            work.await
        };
        let flight = flight.boxed().shared();
        flights.extend(flight.downgrade().map(|weak| (key, weak)));
        flight
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn concurrent_callers_share_one_call() {
        let flights = SingleFlight::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let begin = |key: u8| {
            let calls = Arc::clone(&calls);
            flights.join(key, async move { Ok(calls.fetch_add(1, Relaxed)) })
        };
        let first = begin(1);
        let second = begin(1);
        let third = begin(2);
        assert_eq!((first.await, second.await, third.await), (Ok(0), Ok(0), Ok(1)));
        assert_eq!(begin(1).await, Ok(2));
        assert!(locked(&flights.0).is_empty());
    }

    #[tokio::test]
    async fn remaining_waiter_drives_the_call() {
        let flights = SingleFlight::default();
        let release = Arc::new(Notify::new());
        let work = |result: u8| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                Ok(result)
            }
        };
        let mut first = flights.join((), work(1));
        assert!(futures::poll!(&mut first).is_pending());
        let second = flights.join((), work(2));
        drop(first);
        release.notify_one();
        assert_eq!(second.await, Ok(1));
    }

    #[test]
    fn abandoned_call_is_removed() {
        let flights = SingleFlight::<u8, ()>::default();
        drop(flights.join(1, std::future::pending()));
        assert!(locked(&flights.0).is_empty());
    }
}
