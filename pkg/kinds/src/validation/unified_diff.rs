//! Unified diff of two texts, identical to that of Python's `difflib`, because upstream's messages contain
//! such a diff.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// Number of unchanged lines around each change.
const CONTEXT: usize = 3;
/// Number of lines from which popular lines, those in more than one percent of all lines, do not start a
/// match.
const POPULAR_FROM: usize = 200;

/// A change or a run of equal lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    equal: bool,
    a: Range<usize>,
    b: Range<usize>,
}

/// Returns the diff of two texts; empty if they are equal. The time is the product of the lengths if all
/// lines are equal, and almost linear for texts like printed objects.
pub(crate) fn unified_diff(a: &str, b: &str) -> String {
    let a: Vec<&str> = a.split('\n').collect();
    let b: Vec<&str> = b.split('\n').collect();
    let mut out = String::new();
    for group in groups(steps(&a, &b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = range(first.a.start..last.a.end);
        let new = range(first.b.start..last.b.end);
        let _ = writeln!(out, "@@ -{old} +{new} @@");
        for step in &group {
            let mut lines = |sign: char, lines: Option<&[&str]>| {
                for line in lines.unwrap_or_default() {
                    let _ = writeln!(out, "{sign}{line}");
                }
            };
            if step.equal {
                lines(' ', a.get(step.a.clone()));
            } else {
                lines('-', a.get(step.a.clone()));
                lines('+', b.get(step.b.clone()));
            }
        }
    }
    out
}

/// Formats a range of lines, counted from one: `start`, or `start,length`.
fn range(lines: Range<usize>) -> String {
    match lines.len() {
        1 => format!("{}", lines.start + 1),
        0 => format!("{},0", lines.start),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// Shortens long equal runs, so that each group has exactly its context.
fn groups(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    if let Some(first) = steps.first_mut().filter(|step| step.equal) {
        first.a.start = first.a.start.max(first.a.end.saturating_sub(CONTEXT));
        first.b.start = first.b.start.max(first.b.end.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.equal) {
        last.a.end = last.a.end.min(last.a.start + CONTEXT);
        last.b.end = last.b.end.min(last.b.start + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for mut step in steps {
        if step.equal && step.a.len() > 2 * CONTEXT {
            let a = step.a.start;
            let b = step.b.start;
            group.push(Step { equal: true, a: a..a + CONTEXT, b: b..b + CONTEXT });
            groups.push(std::mem::take(&mut group));
            step.a.start = step.a.end - CONTEXT;
            step.b.start = step.b.end - CONTEXT;
        }
        group.push(step);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| !step.equal));
    groups
}

/// Returns the steps from one text to the other.
fn steps(a: &[&str], b: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut i = 0;
    let mut j = 0;
    for (at_a, at_b, length) in matches(a, b) {
        if i < at_a || j < at_b {
            steps.push(Step { equal: false, a: i..at_a, b: j..at_b });
        }
        (i, j) = (at_a + length, at_b + length);
        if length > 0 {
            steps.push(Step { equal: true, a: at_a..i, b: at_b..j });
        }
    }
    steps
}

/// Returns the matching runs in order, and an empty one at the end.
fn matches(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let index = index(b);
    let mut blocks = Vec::new();
    let mut rest = vec![(0..a.len(), 0..b.len())];
    while let Some((in_a, in_b)) = rest.pop() {
        let (i, j, length) = longest_match(a, b, &index, in_a.clone(), in_b.clone());
        if length > 0 {
            blocks.push((i, j, length));
            rest.push((in_a.start..i, in_b.start..j));
            rest.push((i + length..in_a.end, j + length..in_b.end));
            rest.retain(|(a, b)| !a.is_empty() && !b.is_empty());
        }
    }
    blocks.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::with_capacity(blocks.len() + 1);
    for (i, j, length) in blocks {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += length,
            _ => joined.push((i, j, length)),
        }
    }
    joined.push((a.len(), b.len(), 0));
    joined
}

/// Returns the positions of each line, without popular lines.
fn index<'t>(lines: &[&'t str]) -> HashMap<&'t str, Vec<usize>> {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        index.entry(line).or_default().push(at);
    }
    if lines.len() >= POPULAR_FROM {
        index.retain(|_, places| places.len() <= lines.len() / 100 + 1);
    }
    index
}

/// Returns the longest common run of two ranges; the earliest of several. Popular lines can only extend it.
fn longest_match(
    a: &[&str],
    b: &[&str],
    index: &HashMap<&str, Vec<usize>>,
    in_a: Range<usize>,
    in_b: Range<usize>,
) -> (usize, usize, usize) {
    let mut i = in_a.start;
    let mut j = in_b.start;
    let mut best = 0;
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for at in in_a.clone() {
        let mut next = HashMap::new();
        let places = a.get(at).and_then(|line| index.get(line)).map_or(&[][..], Vec::as_slice);
        for place in places.iter().copied().filter(|place| in_b.contains(place)) {
            let before = place.checked_sub(1).and_then(|place| lengths.get(&place));
            let length = before.copied().unwrap_or(0) + 1;
            next.insert(place, length);
            if length > best {
                (i, j, best) = (at + 1 - length, place + 1 - length, length);
            }
        }
        lengths = next;
    }
    while i > in_a.start && j > in_b.start && a.get(i - 1) == b.get(j - 1) {
        (i, j, best) = (i - 1, j - 1, best + 1);
    }
    while i + best < in_a.end && j + best < in_b.end && a.get(i + best) == b.get(j + best) {
        best += 1;
    }
    (i, j, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: &str) {
        assert_eq!(unified_diff(a, b), expected);
    }

    #[test]
    fn equal_texts_do_not_differ() {
        check("a\nb", "a\nb", "");
    }

    #[test]
    fn changes_have_three_lines_of_context() {
        check("1\n2\n3\n4\n5\n6\n7", "1\n2\n3\n4\nx\n6\n7", "@@ -2,6 +2,6 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n");
    }

    #[test]
    fn distant_changes_are_apart() {
        let a = "a\n1\n2\n3\n4\n5\n6\n7\nb";
        let b = "1\n2\n3\n4\n5\n6\n7\nb\nc";
        check(a, b, "@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -7,3 +6,4 @@\n 6\n 7\n b\n+c\n");
    }

    #[test]
    fn the_longest_stretch_matches_first() {
        check("ab\nx", "ab\nac\nab\nx", "@@ -1,2 +1,4 @@\n+ab\n+ac\n ab\n x\n");
    }
}
