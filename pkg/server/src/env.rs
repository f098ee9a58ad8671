//! Clock and randomness of a server, as injected dependencies.

use std::sync::Arc;

use component_base::clock::Clock;

/// Fills a buffer with random bytes, for request ids and GOAWAY decisions. Keys come from the cryptography
/// library.
pub type Random = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

#[derive(Clone)]
pub struct Env {
    pub clock: Arc<dyn Clock>,
    pub random: Random,
}

impl Env {
    /// Returns a random (version 4) UUID.
    pub(crate) fn uuid(&self) -> uuid::Uuid {
        let mut bytes = [0; 16];
        (self.random)(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// Returns true with the given probability.
    pub(crate) fn random_bool(&self, probability: f64) -> bool {
        if probability <= 0.0 {
            return false;
        }
        let mut bytes = [0; 4];
        (self.random)(&mut bytes);
        f64::from(u32::from_le_bytes(bytes)) < probability * (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use component_base::clock::TestClock;

    #[test]
    fn event_frequency_matches_probability() {
        let check = |random: u32, probability: f64, expected: bool| {
            let env = Env {
                clock: Arc::new(TestClock::default()),
                random: Arc::new(move |out| out.copy_from_slice(&random.to_le_bytes())),
            };
            assert_eq!(env.random_bool(probability), expected, "{random} {probability}");
        };
        check(0, 0.0, false);
        check(0, 0.001, true);
        check(u32::MAX / 100, 0.02, true);
        check(u32::MAX / 50 + 1, 0.02, false);
        check(u32::MAX, 1.0, true);
    }
}
