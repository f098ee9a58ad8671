//! How long a watch waits for the plugins that keys come from.
//!
//! One watch of the store feeds the caches of all resources, in order. So a plugin that does not answer must not hold
//! it up again and again, for every value that comes by: the caches of everything else would fall behind with it. A value
//! that is not waited for counts as one that cannot be read; the cache tries it again
//! (`cacher`'s `driver/mend.rs`).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use encryption::{Error, Opened, Protection};
use storage::KeyValue;
use tokio::time::{Instant, timeout};

use super::Current;
use super::value::{expect_plain, settle};

/// How long a watch waits for one value.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// How long it waits for none after one that it waited for in vain.
const PAUSE: Duration = Duration::from_secs(10);

/// Opens the values that come by a watch.
#[derive(Default)]
pub(super) struct Patience {
    /// Nobody is waited for until then.
    exhausted_until: Mutex<Option<Instant>>,
}

impl Patience {
    /// Opens a value. A pair whose value cannot be opened, or not in time, says so.
    pub(super) async fn open(&self, current: &Current, mut kv: KeyValue) -> KeyValue {
        let Some(protection) = current.load().of(&kv.key) else {
            expect_plain(&mut kv);
            return kv;
        };
        let opened = match protection.open_now(&kv.value, kv.key.as_bytes()) {
            Some(opened) => opened,
            None => self.ask(protection, &kv).await,
        };
        settle(&mut kv, opened);
        kv
    }

    async fn ask(&self, protection: Protection, kv: &KeyValue) -> Result<Opened, Error> {
        let late = || Error::away("the key of the value was not there in time");
        if self.is_exhausted() {
            return Err(late());
        }
        let (value, key) = (kv.value.clone(), kv.key.clone());
        // The answer is of use to those who ask later, so the call goes on, for as long as its plugin may take.
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
