//! Seat demand of a level: integrated over time, and smoothed from period to period.

use std::time::Duration;

/// Decay of smoothed demand per period: it halves in five minutes of adjustments every ten seconds.
const SMOOTHING: f64 = 0.977;

/// Statistics of a varying number over a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PeriodStats {
    /// Length of the period in seconds.
    pub(crate) seconds: f64,
    /// The average over time; NaN for an empty period.
    pub(crate) average: f64,
    /// The standard deviation over time.
    pub(crate) deviation: f64,
    /// The highest value.
    pub(crate) max: f64,
}

/// Integrates a number over time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeIntegrator {
    since: Duration,
    last: Duration,
    value: f64,
    max: f64,
    integral: f64,
    integral_of_square: f64,
}

impl TimeIntegrator {
    /// Creates an integrator with the value zero from `now` on.
    pub(crate) fn new(now: Duration) -> Self {
        TimeIntegrator { since: now, last: now, value: 0.0, max: 0.0, integral: 0.0, integral_of_square: 0.0 }
    }

    /// Changes the value from `now` on.
    pub(crate) fn set(&mut self, value: f64, now: Duration) {
        self.advance(now);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Returns the statistics since the last reset and starts a new period.
    pub(crate) fn reset(&mut self, now: Duration) -> PeriodStats {
        self.advance(now);
        let seconds = now.saturating_sub(self.since).as_secs_f64();
        let average = self.integral / seconds;
        let variance = self.integral_of_square / seconds - average * average;
        // Rounding can make the variance of a constant slightly negative.
        let moments = PeriodStats { seconds, average, deviation: variance.max(0.0).sqrt(), max: self.max };
        *self = TimeIntegrator { value: self.value, max: self.value, ..TimeIntegrator::new(now) };
        moments
    }

    fn advance(&mut self, now: Duration) {
        let seconds = now.saturating_sub(self.last).as_secs_f64();
        self.integral += self.value * seconds;
        self.integral_of_square += self.value * self.value * seconds;
        self.last = now.max(self.last);
    }
}

/// Seat demand, as input of the seat division.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Demand {
    /// Highest demand in the last period.
    pub(crate) high_watermark: u32,
    /// Average over the last period.
    pub(crate) average: f64,
    /// Standard deviation over the last period.
    pub(crate) deviation: f64,
    /// Smoothed average plus deviation: rises at once and falls slowly.
    pub(crate) smoothed: f64,
}

impl Demand {
    /// Adds another period.
    pub(crate) fn update(&mut self, period: PeriodStats) {
        self.high_watermark = period.max.round() as u32;
        if period.seconds <= 0.0 {
            return;
        }
        let envelope = period.average + period.deviation;
        let decayed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope;
        (self.average, self.deviation, self.smoothed) =
            (period.average, period.deviation, envelope.max(decayed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_weighted_by_time() {
        let at = Duration::from_secs;
        let mut integrator = TimeIntegrator::new(at(100));
        integrator.set(4.0, at(101));
        integrator.set(0.0, at(102));
        let moments = integrator.reset(at(104));
        assert_eq!((moments.seconds, moments.average, moments.max), (4.0, 1.0, 4.0));
        assert!((moments.deviation - 3.0_f64.sqrt()).abs() < 1e-12, "{moments:?}");
    }

    #[test]
    fn new_period_keeps_the_value() {
        let at = Duration::from_secs;
        let mut integrator = TimeIntegrator::new(at(0));
        integrator.set(9.0, at(1));
        integrator.set(2.0, at(2));
        integrator.reset(at(3));
        let moments = integrator.reset(at(5));
        assert_eq!((moments.average, moments.deviation, moments.max), (2.0, 0.0, 2.0));
    }

    #[test]
    fn smoothed_demand_rises_at_once_and_falls_slowly() {
        let period = |average| PeriodStats { seconds: 10.0, average, deviation: 0.0, max: average };
        let mut demand = Demand::default();
        demand.update(period(100.0));
        assert_eq!((demand.smoothed, demand.high_watermark), (100.0, 100));
        for _ in 0..30 {
            demand.update(period(0.0));
        }
        assert!((demand.smoothed - 50.0).abs() < 1.0, "half after five minutes: {demand:?}");
    }

    #[test]
    fn empty_period_yields_only_the_maximum() {
        let mut integrator = TimeIntegrator::new(Duration::ZERO);
        integrator.set(3.0, Duration::ZERO);
        let mut demand = Demand { smoothed: 7.0, ..Demand::default() };
        demand.update(integrator.reset(Duration::ZERO));
        assert_eq!((demand.smoothed, demand.high_watermark), (7.0, 3));
    }
}
