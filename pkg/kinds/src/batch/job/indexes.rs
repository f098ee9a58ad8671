//! Sets of pod indexes of a job as text: `1,3-5,7`.

use apimachinery::go_quote::Quoted;
use apimachinery::strconv;
use thiserror::Error;

/// Length limit of such a text from a user, in bytes.
pub(super) const INDEXES_BYTES_MAX: usize = 64 * 1024;

/// Error of a set of indexes, in upstream's wording.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum IndexError {
    #[error(
        "the fragment {} violates the requirement that an index interval can have at most two parts separated \
         by '-'",
        Quoted(.0)
    )]
    Interval(String),
    #[error("cannot convert string to integer for index: {}", Quoted(.0))]
    NotInteger(String),
    /// Not below the number of completions.
    #[error("too large index: {}", Quoted(.0))]
    TooLarge(String),
    #[error("non-increasing order, previous: {previous}, current: {current}")]
    Order { previous: i64, current: i64 },
}

/// Returns the number of indexes, which must be below `completions` and in increasing order.
///
/// # Errors
/// The first problem.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, IndexError> {
    let mut last = None;
    let mut total = 0;
    for interval in intervals(text) {
        let (first, end) = parse_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(IndexError::Order { previous: last, current: first });
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// Returns the first common index of both sets. Malformed intervals are skipped. Unsorted sets are compared
/// as far as they are sorted.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let valid = |text| intervals(text).filter_map(move |interval| parse_interval(interval, completions).ok());
    let mut completed = valid(completed);
    let mut failed = valid(failed);
    let mut of_completed = completed.next()?;
    let mut of_failed = failed.next()?;
    loop {
        let (first, end) = of_completed;
        let (first_failed, end_failed) = of_failed;
        if first <= end_failed && first_failed <= end {
            return Some(first.max(first_failed));
        }
        if first <= first_failed { of_completed = completed.next()? } else { of_failed = failed.next()? }
    }
}

fn intervals(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| !text.is_empty())
}

/// Parses the first and last index of an interval.
fn parse_interval(interval: &str, completions: i64) -> Result<(i64, i64), IndexError> {
    let (first, last) = match interval.split_once('-') {
        Some((_, last)) if last.contains('-') => return Err(IndexError::Interval(interval.to_owned())),
        Some((first, last)) => (first, Some(last)),
        None => (interval, None),
    };
    let first = parse_index(first, completions)?;
    let Some(last) = last else { return Ok((first, first)) };
    let last = parse_index(last, completions)?;
    if first < last { Ok((first, last)) } else { Err(IndexError::Order { previous: first, current: last }) }
}

fn parse_index(text: &str, completions: i64) -> Result<i64, IndexError> {
    match strconv::atoi(text) {
        Err(_) => Err(IndexError::NotInteger(text.to_owned())),
        Ok(index) if index >= completions => Err(IndexError::TooLarge(text.to_owned())),
        Ok(index) => Ok(index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<i64, &str>) {
        let counted = count_indexes(text, 5).map_err(|error| error.to_string());
        assert_eq!(counted, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn indexes_are_sorted_and_below_completions() {
        check("", Ok(0));
        check("0", Ok(1));
        check("0-2,4", Ok(4));
        check("0-9", Err("too large index: \"9\""));
        check("a", Err("cannot convert string to integer for index: \"a\""));
        check("0,,1", Err("cannot convert string to integer for index: \"\""));
        check("3-1", Err("non-increasing order, previous: 3, current: 1"));
        check("0,0", Err("non-increasing order, previous: 0, current: 0"));
        check(
            "0-1-2",
            Err(
                "the fragment \"0-1-2\" violates the requirement that an index interval can have at most two \
                 parts separated by '-'",
            ),
        );
    }

    #[test]
    fn overlaps_are_found() {
        for (completed, failed, expected) in [
            ("", "0", None),
            ("0,2", "1,3", None),
            ("0-2", "2-3", Some(2)),
            ("0,4", "1-3,4", Some(4)),
            ("x,1", "1", Some(1)),
        ] {
            assert_eq!(overlap(completed, failed, 5), expected, "{completed} {failed}");
        }
    }
}
