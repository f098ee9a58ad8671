//! How the seats of a server are divided among its levels, in proportion to what they want and within what each may
//! have (KEP-1040, "Dispatching"; upstream's `conc_alloc.go` and `updateBorrowing`).

/// What a level may have, from its configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Its seats as configured.
    pub(crate) nominal: u32,
    /// What is left if it lends all that it may.
    pub(crate) min: u32,
    /// What it has if it borrows all that it may.
    pub(crate) max: u32,
}

impl Limits {
    /// The limits of a level with `shares` of `share_sum`, of a server with `total` seats. Rounded up, so that the sum over
    /// all levels may be a little more than `total`. A borrowing limit of `None` is `total`.
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

/// A level that wants seats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelDemand {
    pub(crate) limits: Limits,
    /// Whether it takes what it wants.
    pub(crate) exempt: bool,
    /// The most seats that it could have used lately.
    pub(crate) high_watermark: u32,
    /// What it could use, smoothed.
    pub(crate) smoothed: f64,
    /// What it has.
    pub(crate) current: u32,
}

impl LevelDemand {
    /// The least that it has to get: what it could use, up to its own seats, and at least what it does not lend. An
    /// exempt level gets all that it could use.
    fn floor(&self) -> u32 {
        let wanted = if self.exempt { u32::MAX } else { self.limits.nominal };
        self.limits.min.max(wanted.min(self.high_watermark))
    }

    /// What it should get if there is enough.
    fn target(&self) -> f64 {
        f64::from(self.floor()).max(if self.exempt { 0.0 } else { self.smoothed })
    }
}

/// What a level gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelAllocation {
    /// Its seats.
    pub(crate) limit: u32,
    /// What it should have got if there was enough.
    pub(crate) target: f64,
}

/// Divides the seats: a grant for each claim, and which part of its target every level gets that no bound concerns.
///
/// If exempt levels leave too little for what the others have to get at least, these share what is left above what they
/// never lend. Otherwise the division is of all seats, those that exempt levels use included, as upstream's is.
pub(crate) fn divide(claims: &[LevelDemand]) -> (Vec<LevelAllocation>, f64) {
    let total: i64 = claims.iter().map(|claim| i64::from(claim.limits.nominal)).sum();
    let limited: Vec<&LevelDemand> = claims.iter().filter(|claim| !claim.exempt).collect();
    let exempt: i64 = claims.iter().filter(|claim| claim.exempt).map(|claim| i64::from(claim.floor())).sum();
    let kept: i64 = limited.iter().map(|claim| i64::from(claim.limits.min)).sum();
    let floors: i64 = limited.iter().map(|claim| i64::from(claim.floor())).sum();
    let left = total - exempt;
    let mut fair = 0.0;
    let limits: Vec<u32> = if left <= floors {
        let part = ((left - kept).max(0) as f64) / ((floors - kept).max(1) as f64);
        let above = |claim: &LevelDemand| f64::from(claim.floor() - claim.limits.min) * part;
        limited.iter().map(|claim| claim.limits.min + above(claim).round() as u32).collect()
    } else {
        let bound = |claim: &&LevelDemand| Bound {
            lower: f64::from(claim.floor()),
            upper: f64::from(claim.limits.max),
            target: claim.target(),
        };
        let bounds: Vec<Bound> = limited.iter().map(bound).collect();
        match allocate(total as f64, &bounds) {
            Some((seats, part)) => {
                fair = part;
                seats.into_iter().map(|seats| seats.round() as u32).collect()
            }
            None => limited.iter().map(|claim| claim.current).collect(),
        }
    };
    let mut limits = limits.into_iter();
    let grant = |claim: &LevelDemand| {
        let limit = if claim.exempt { Some(claim.floor()) } else { limits.next() };
        LevelAllocation { limit: limit.unwrap_or(claim.current), target: claim.target() }
    };
    (claims.iter().map(grant).collect(), fair)
}

/// Between what, and in proportion to what, somebody gets a part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    lower: f64,
    upper: f64,
    target: f64,
}

/// Whoever wants nothing wants this much, so that there is a proportion.
const TARGET_MIN: f64 = 0.001;
/// Sums that differ by less are equal.
const EPSILON: f64 = 1e-7;

/// Parts that sum to `sum`, and the one factor such that each part is that times its target where its bounds do not say
/// otherwise. `None` if the bounds do not allow the sum, or are none.
///
/// With growing factor the sum of the parts grows, piecewise linearly: the pieces meet where a part leaves its lower
/// bound or arrives at the upper one. So the pieces are walked in order, up to the one with the sum in it.
fn allocate(sum: f64, bounds: &[Bound]) -> Option<(Vec<f64>, f64)> {
    let target = |bound: &Bound| bound.target.max(TARGET_MIN);
    let sane =
        |bound: &Bound| 0.0 <= bound.lower && bound.lower <= bound.target && bound.lower <= bound.upper;
    let lowest: f64 = bounds.iter().map(|bound| bound.lower).sum();
    let highest: f64 = bounds.iter().map(|bound| bound.upper).sum();
    if !bounds.iter().all(sane) || lowest - sum > EPSILON || sum - highest > EPSILON {
        return None;
    }
    let parts = |factor: f64| -> Vec<f64> {
        bounds.iter().map(|bound| (factor * target(bound)).clamp(bound.lower, bound.upper)).collect()
    };
    // Where the slope of the sum changes, and by how much.
    let mut bends: Vec<(f64, f64)> = bounds
        .iter()
        .flat_map(|b| [(b.lower / target(b), target(b)), (b.upper / target(b), -target(b))])
        .collect();
    bends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut factor, mut reached, mut slope) = (bends.first().map_or(0.0, |bend| bend.0), lowest, 0.0);
    for (bend, change) in bends {
        let next = reached + slope * (bend - factor);
        if next >= sum - EPSILON {
            break;
        }
        (factor, reached, slope) = (bend, next, slope + change);
    }
    if slope > EPSILON {
        factor += (sum - reached) / slope;
    }
    Some((parts(factor), factor))
}

#[cfg(test)]
mod tests;
