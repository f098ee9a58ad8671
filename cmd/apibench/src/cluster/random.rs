//! Seeded random numbers (SplitMix64), so that a run is repeatable.

/// A generator of 64-bit numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of `seed`; `stream` separates generators of one run.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in `0..bound`; 0 if that is empty.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((self.unit() * bound as f64) as u64).min(bound.saturating_sub(1))
    }

    /// Returns the seconds until the next event of a Poisson process with `rate` events per second.
    pub(crate) fn gap(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_is_deterministic_and_streams_differ() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..4).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 1), draw(1, 1));
        assert_ne!(draw(1, 1), draw(1, 2));
        assert_ne!(draw(1, 1), draw(2, 1));
    }

    #[test]
    fn gaps_have_the_mean_of_their_rate() {
        let mut random = Random::new(7, 0);
        let mean = (0..20_000).map(|_| random.gap(50.0)).sum::<f64>() / 20_000.0;
        assert!((mean * 50.0 - 1.0).abs() < 0.03, "{mean}");
        assert_eq!(random.below(0), 0);
    }
}
