//! Limits the wait of a watch for KMS plugins.
//!
//! One watch of the store feeds the caches of all resources, in order. An unresponsive plugin must not delay
//! every value, because all other caches would lag behind. A value that times out counts as unreadable, and
//! the cache retries it (`cacher`'s `driver/retry_unreadable.rs`).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use encryption::{DecryptedValue, Error, Protection};
use storage::KeyValue;
use tokio::time::{Instant, timeout};

use super::CurrentRules;
use super::value::{expect_plain, set_decrypted};

/// Maximum wait for one value.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Time without any waits after a timeout.
const PAUSE: Duration = Duration::from_secs(10);

/// Decrypts the values of a watch.
#[derive(Default)]
pub(super) struct WatchDecryptor {
    /// No waits until this time.
    exhausted_until: Mutex<Option<Instant>>,
}

impl WatchDecryptor {
    /// Decrypts a value. Marks it as unreadable after an error or timeout.
    pub(super) async fn open(&self, current: &CurrentRules, mut kv: KeyValue) -> KeyValue {
        let Some(protection) = current.load().of(&kv.key) else {
            expect_plain(&mut kv);
            return kv;
        };
        let opened = match protection.open_now(&kv.value, kv.key.as_bytes()) {
            Some(opened) => opened,
            None => self.decrypt_with_retry(protection, &kv).await,
        };
        set_decrypted(&mut kv, opened);
        kv
    }

    async fn decrypt_with_retry(
        &self,
        protection: Protection,
        kv: &KeyValue,
    ) -> Result<DecryptedValue, Error> {
        let late = || Error::unavailable("the key of the value was not there in time");
        if self.is_exhausted() {
            return Err(late());
        }
        let value = kv.value.clone();
        let key = kv.key.clone();
        // The call continues until its own timeout, because later readers can use the result.
        let call = tokio::spawn(async move { protection.open(&value, key.as_bytes()).await });
        let opened = match timeout(WAIT_MAX, call).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(late()),
        };
        if opened.as_ref().is_err_and(Error::is_transient) {
            *self.exhausted_until.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Instant::now() + PAUSE);
        }
        opened
    }

    fn is_exhausted(&self) -> bool {
        let until = self.exhausted_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }
}
