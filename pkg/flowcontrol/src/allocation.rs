//! Division of a server's seats among its levels, in proportion to demand and within each level's limits
//! (KEP-1040, "Dispatching"; upstream's `conc_alloc.go` and `updateBorrowing`).

/// Concurrency limits of a level, from its configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Nominal seats.
    pub(crate) nominal: u32,
    /// Seats left after lending as many as allowed.
    pub(crate) min: u32,
    /// Seats after borrowing as many as allowed.
    pub(crate) max: u32,
}

impl Limits {
    /// Computes the limits of a level with `shares` of `share_sum`, for a server with `total` seats. Rounds
    /// up, so the sum over all levels can slightly exceed `total`. A borrowing limit of `None` is `total`.
    pub(crate) fn new(
        total: u32,
        shares: u32,
        share_sum: u64,
        lendable_percent: u32,
        borrowing_limit_percent: Option<u32>,
    ) -> Self {
        let part = u64::from(total) * u64::from(shares);
        let nominal = match share_sum {
            0 => 0,
            sum => u32::try_from(part.div_ceil(sum)).unwrap_or(u32::MAX),
        };
        let percent = |percent: u32| (f64::from(nominal) * f64::from(percent) / 100.0).round() as u32;
        let borrowing = borrowing_limit_percent.map_or(total, percent);
        Limits {
            nominal,
            min: nominal.saturating_sub(percent(lendable_percent)),
            max: nominal.saturating_add(borrowing),
        }
    }
}

/// Demand of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelDemand {
    pub(crate) limits: Limits,
    /// True if the level takes what it wants.
    pub(crate) exempt: bool,
    /// Highest demand in seats in the last period.
    pub(crate) high_watermark: u32,
    /// Smoothed demand in seats.
    pub(crate) smoothed: f64,
    /// Current seats.
    pub(crate) current: u32,
}

impl LevelDemand {
    /// Returns the guaranteed minimum: the high watermark up to the nominal seats, and at least the seats
    /// that the level does not lend. An exempt level is guaranteed its whole high watermark.
    fn floor(&self) -> u32 {
        let cap = if self.exempt { u32::MAX } else { self.limits.nominal };
        self.limits.min.max(cap.min(self.high_watermark))
    }

    /// Returns the target: the seats that the level gets if there are enough.
    fn target(&self) -> f64 {
        f64::from(self.floor()).max(if self.exempt { 0.0 } else { self.smoothed })
    }
}

/// Result of the division for one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelAllocation {
    /// The level's seats.
    pub(crate) limit: u32,
    /// The target before scaling to the available seats.
    pub(crate) target: f64,
}

/// Divides the seats. Returns a grant for each claim, and the fair fraction of the target for every level
/// that no bound limits.
///
/// If exempt levels leave too little for the guaranteed minimums, the other levels share the remainder above
/// the seats that they never lend. Otherwise all seats are divided, including those that exempt levels use,
/// as upstream does.
pub(crate) fn divide(claims: &[LevelDemand]) -> (Vec<LevelAllocation>, f64) {
    let total: i64 = claims.iter().map(|claim| i64::from(claim.limits.nominal)).sum();
    let limited: Vec<&LevelDemand> = claims.iter().filter(|claim| !claim.exempt).collect();
    let exempt: i64 = claims.iter().filter(|claim| claim.exempt).map(|claim| i64::from(claim.floor())).sum();
    let minimums: i64 = limited.iter().map(|claim| i64::from(claim.limits.min)).sum();
    let floors: i64 = limited.iter().map(|claim| i64::from(claim.floor())).sum();
    let available = total - exempt;
    let mut fair = 0.0;
    let limits: Vec<u32> = if available <= floors {
        let share = ((available - minimums).max(0) as f64) / ((floors - minimums).max(1) as f64);
        let extra = |claim: &LevelDemand| f64::from(claim.floor() - claim.limits.min) * share;
        limited.iter().map(|claim| claim.limits.min + extra(claim).round() as u32).collect()
    } else {
        let bound = |claim: &&LevelDemand| Bound {
            lower: f64::from(claim.floor()),
            upper: f64::from(claim.limits.max),
            target: claim.target(),
        };
        let bounds: Vec<Bound> = limited.iter().map(bound).collect();
        match allocate(total as f64, &bounds) {
            Some((seats, share)) => {
                fair = share;
                seats.into_iter().map(|seats| seats.round() as u32).collect()
            }
            None => limited.iter().map(|claim| claim.current).collect(),
        }
    };
    let mut limits = limits.into_iter();
    let allocation = |claim: &LevelDemand| {
        let limit = if claim.exempt { Some(claim.floor()) } else { limits.next() };
        LevelAllocation { limit: limit.unwrap_or(claim.current), target: claim.target() }
    };
    (claims.iter().map(allocation).collect(), fair)
}

/// Bounds and target of one part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    lower: f64,
    upper: f64,
    target: f64,
}

/// Minimum target, so that a proportion is defined for a level without demand.
const TARGET_MIN: f64 = 0.001;
/// Tolerance for equal sums.
const EPSILON: f64 = 1e-7;

/// Computes parts that add up to `sum`, and one common factor. Each part is its target times the factor,
/// clamped to its bounds. Returns `None` if the bounds are invalid or do not allow the sum.
///
/// The sum of the parts grows with the factor and is piecewise linear. Its pieces meet where a part leaves
/// its lower bound or reaches its upper bound. The pieces are walked in order, up to the one that contains
/// the sum.
fn allocate(sum: f64, bounds: &[Bound]) -> Option<(Vec<f64>, f64)> {
    let target = |bound: &Bound| bound.target.max(TARGET_MIN);
    let is_valid =
        |bound: &Bound| 0.0 <= bound.lower && bound.lower <= bound.target && bound.lower <= bound.upper;
    let lowest: f64 = bounds.iter().map(|bound| bound.lower).sum();
    let highest: f64 = bounds.iter().map(|bound| bound.upper).sum();
    if !bounds.iter().all(is_valid) || lowest - sum > EPSILON || sum - highest > EPSILON {
        return None;
    }
    let shares = |factor: f64| -> Vec<f64> {
        bounds.iter().map(|bound| (factor * target(bound)).clamp(bound.lower, bound.upper)).collect()
    };
    // The factors at which the slope of the sum changes, and the changes.
    let mut breakpoints: Vec<(f64, f64)> = bounds
        .iter()
        .flat_map(|b| [(b.lower / target(b), target(b)), (b.upper / target(b), -target(b))])
        .collect();
    breakpoints.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut factor = breakpoints.first().map_or(0.0, |breakpoint| breakpoint.0);
    let mut reached = lowest;
    let mut slope = 0.0;
    for (breakpoint, change) in breakpoints {
        let next = reached + slope * (breakpoint - factor);
        if next >= sum - EPSILON {
            break;
        }
        (factor, reached, slope) = (breakpoint, next, slope + change);
    }
    if slope > EPSILON {
        factor += (sum - reached) / slope;
    }
    Some((shares(factor), factor))
}

#[cfg(test)]
mod tests;
