//! A clock and random numbers for tests.

use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use registry::Entropy;

/// The clock of the machine.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "leases of a test expire by the real clock")]
    fn now(&self) -> UnixTime {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        UnixTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }
}

/// Random numbers of the thread.
pub(crate) struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn uid(&self) -> String {
        format!("uid-{}", self.number())
    }

    #[allow(clippy::disallowed_methods, reason = "nothing in a test depends on the number")]
    fn number(&self) -> u32 {
        rand::random()
    }
}
