//! The order of keys in written YAML: runs of digits are compared by value, letters come last.

use std::cmp::Ordering;

/// A key in that order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key<'a>(pub(super) std::borrow::Cow<'a, str>);

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let common_len = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (head, a) = a.split_at_checked(common_len).unwrap_or((a, ""));
    let b = b.get(common_len..).unwrap_or_default();
    let (Some(first_a), Some(first_b)) = (a.chars().next(), b.chars().next()) else {
        return a.len().cmp(&b.len());
    };
    match (first_a.is_alphabetic(), first_b.is_alphabetic()) {
        (true, true) => return first_a.cmp(&first_b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero after other digits belongs to the same number.
    let within_number = (first_a == '0' || first_b == '0')
        && head.bytes().rev().take_while(u8::is_ascii_digit).any(|digit| digit != b'0');
    let (number_a, length_a) = leading_number(a, within_number);
    let (number_b, length_b) = leading_number(b, within_number);
    number_a.cmp(&number_b).then(length_a.cmp(&length_b)).then(first_a.cmp(&first_b))
}

/// The value and length of the leading digits, after a one if `within_number`. Overflow wraps, as in Go.
fn leading_number(text: &str, within_number: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(within_number), 0), |(value, length), digit| {
        (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), length + 1)
    })
}
