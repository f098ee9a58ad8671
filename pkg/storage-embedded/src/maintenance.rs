//! Background maintenance: expiry of keys and compaction. Both only send commands; the committer does the
//! work, in its order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::committer::Command;
use crate::shared::Shared;
use crate::{Clock, millis};

/// Maximum time between checks of the clock, which may be set during a sleep.
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Minimum time between checks, so that a store that cannot write does not spin.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(50);

pub(crate) async fn expire_keys(shared: Arc<Shared>, commands: mpsc::Sender<Command>, clock: Clock) {
    loop {
        let next = shared.mvcc().deadlines().next();
        let Some(next) = next else {
            shared.deadline_set.notified().await;
            continue;
        };
        let wait = next.saturating_sub(millis(clock()));
        if wait == 0 {
            if commands.send(Command::Expire).await.is_err() {
                return;
            }
            tokio::time::sleep(CHECK_INTERVAL_MIN).await;
            continue;
        }
        let wait = Duration::from_millis(wait).min(CHECK_INTERVAL_MAX);
        // The deadlines are checked again in any case.
        let _ = tokio::time::timeout(wait, shared.deadline_set.notified()).await;
    }
}

pub(crate) async fn compact(shared: Arc<Shared>, commands: mpsc::Sender<Command>, interval: Duration) {
    let mut revision = shared.mvcc().revision();
    loop {
        tokio::time::sleep(interval).await;
        let now = shared.mvcc().revision();
        if commands.send(Command::Compact { revision, reply: None }).await.is_err() {
            return;
        }
        revision = now;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use storage::Revision;
    use storage::mvcc::Write;

    use super::*;
    use crate::tests::sim_disk::SimDisk;

    fn write(shared: &Shared) -> Revision {
        let mut mvcc = shared.mvcc_mut();
        let key = format!("/{}", mvcc.revision()).into();
        let write = Write { key, value: Some("v".into()), expected: 0, expires_at: None };
        let revision = mvcc.revision() + 1;
        mvcc.apply(write.decide(None, revision).unwrap());
        revision
    }

    /// Each tick compacts the store to the revision at the previous tick.
    #[tokio::test(start_paused = true)]
    async fn one_to_two_intervals_of_history_remain() {
        let disk = SimDisk::new().file().unwrap();
        let shared = Arc::new(Shared::new(disk.load().unwrap(), disk));
        let (commands, mut queue) = mpsc::channel(1);
        let mut before = write(&shared);
        tokio::spawn(compact(shared.clone(), commands, Duration::from_secs(300)));
        tokio::task::yield_now().await;
        for _ in 0..3 {
            write(&shared);
            let now = write(&shared);
            let start = tokio::time::Instant::now();
            let Some(Command::Compact { revision, reply: None }) = queue.recv().await else {
                panic!("wanted a compaction");
            };
            assert_eq!(revision, before);
            assert_eq!(start.elapsed(), Duration::from_secs(300));
            before = now;
        }
    }
}
