//! Seat divisions compared with results of upstream's functions.

use super::*;

/// `alloc SUM LOWER,UPPER,TARGET…: FACTOR PART…`, or `: none`.
const NUMBERS: &str = include_str!("../testdata/upstream.txt");

#[test]
fn allocation_equals_upstreams() {
    let lines: Vec<&str> = NUMBERS.lines().filter_map(|line| line.strip_prefix("alloc ")).collect();
    assert_eq!(lines.len(), 40);
    for line in lines {
        let (problem, solution) = line.split_once(": ").unwrap();
        let (sum, bounds) = problem.split_once(' ').unwrap();
        let bound = |text: &str| {
            let numbers: Vec<f64> = text.split(',').map(|number| number.parse().unwrap()).collect();
            Bound { lower: numbers[0], upper: numbers[1], target: numbers[2] }
        };
        let bounds: Vec<Bound> = bounds.split(' ').map(bound).collect();
        let allocation = allocate(sum.parse().unwrap(), &bounds);
        let Some((seats, factor)) = allocation else {
            assert_eq!(solution, "none", "{line}");
            continue;
        };
        let expected: Vec<f64> = solution.split(' ').map(|number| number.parse().unwrap()).collect();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(expected[1..].iter().zip(&seats).all(|(a, b)| close(*a, *b)), "{line} {seats:?}");
        assert!(close(expected[0], factor), "{line} {factor}");
    }
}

/// A level of upstream's suggested configuration, on a server with six seats per share.
fn limited(shares: u32, lendable_percent: u32, smoothed: f64) -> LevelDemand {
    let limits = Limits::new(870, shares, 145, lendable_percent, None);
    LevelDemand { limits, exempt: false, high_watermark: smoothed as u32, smoothed, current: 0 }
}

fn exempt(high_watermark: u32) -> LevelDemand {
    let limits = Limits::new(870, 0, 145, 0, None);
    LevelDemand { limits, exempt: true, high_watermark, smoothed: 0.0, current: 0 }
}

fn limits(claims: &[LevelDemand]) -> Vec<u32> {
    divide(claims).0.into_iter().map(|grant| grant.limit).collect()
}

#[test]
fn limits_round_up_and_lent_seats_to_nearest() {
    // Upstream's six suggested levels, on a server with 600 seats.
    let of = |shares, lendable| Limits::new(600, shares, 245, lendable, None);
    assert_eq!(of(100, 90), Limits { nominal: 245, min: 24, max: 845 });
    assert_eq!(of(30, 33), Limits { nominal: 74, min: 50, max: 674 });
    assert_eq!(of(5, 0), Limits { nominal: 13, min: 13, max: 613 });
    assert_eq!(Limits::new(600, 30, 245, 33, Some(50)).max, 111);
    assert_eq!(Limits::new(600, 0, 0, 0, None), Limits { nominal: 0, min: 0, max: 600 });
}

#[test]
fn idle_division_equals_upstreams() {
    // Shares and lendable percentages of the levels of a new cluster, and the seats that an upstream server
    // reported.
    let levels =
        [(5, 0, 30), (20, 50, 56), (10, 0, 58), (40, 25, 170), (30, 33, 117), (40, 50, 114), (100, 90, 56)];
    let claim = |(shares, lendable, _)| LevelDemand {
        limits: Limits::new(600, shares, 245, lendable, None),
        exempt: false,
        high_watermark: 0,
        smoothed: 0.0,
        current: 0,
    };
    let mut claims: Vec<LevelDemand> = levels.into_iter().map(claim).collect();
    claims.push(LevelDemand {
        limits: Limits::new(600, 0, 245, 0, None),
        exempt: true,
        high_watermark: 3,
        ..claims[0]
    });
    let (grants, fair) = divide(&claims);
    let limits: Vec<u32> = grants.iter().map(|grant| grant.limit).collect();
    assert_eq!(limits, [30, 56, 58, 170, 117, 114, 56, 3]);
    assert!((fair - 7.0 / 3.0).abs() < 1e-9, "{fair}");
}

#[test]
fn exempt_requests_take_lendable_seats() {
    // All levels want more than there is: limited levels get the seats that they never lend.
    let all =
        |exempted| [exempt(exempted), limited(40, 50, 970.0), limited(100, 90, 970.0), limited(5, 0, 970.0)];
    assert_eq!(limits(&all(970)), [970, 120, 60, 30]);
    // Half way between that and their nominal seats.
    assert_eq!(limits(&all(330)), [330, 180, 330, 30]);
}

#[test]
fn level_borrows_unused_seats() {
    let grants = limits(&[limited(40, 50, 0.0), limited(100, 90, 1_200.0), limited(5, 0, 0.0)]);
    assert_eq!(grants, [120, 720, 30]);
    let grants = limits(&[limited(40, 50, 200.0), limited(100, 90, 50.0), limited(5, 0, 0.0)]);
    assert_eq!(grants.iter().sum::<u32>(), 870, "{grants:?}");
    assert!(grants[0] > 240, "{grants:?}");
}

#[test]
fn impossible_division_changes_nothing() {
    let mut claim = limited(145, 50, 10.0);
    claim.limits.max = 600;
    claim.current = 333;
    assert_eq!(limits(&[claim]), [333]);
}
