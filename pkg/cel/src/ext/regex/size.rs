//! Bounds on the tree of a pattern, which hold before the tree is built. A short pattern can have a large tree:
//! `\pL` has 660 ranges.

use super::character::RegexError;

/// Maximum number of elements of a pattern and of its bracketed classes.
const NODES_MAX: u64 = 1 << 18;
/// Maximum number of ranges in all classes, 16 bytes each. Go's limit is 16 million ranges of 8 bytes (`maxRunes`).
const RANGES_MAX: u64 = 1 << 21;
/// Maximum operations for building all classes.
const WORK_MAX: u64 = 1 << 27;
/// Maximum number of ranges that case folding adds to a class.
const FOLDED_MAX: u64 = 1 << 12;
/// Number of code points, which is also the work of folding a class that can contain all of them.
const CODE_POINTS: u64 = 0x11_0000;

/// Size of a pattern's tree, or of a part. An upper bound, from the text of the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    nodes: u64,
    ranges: u64,
    /// Operations for building classes: code points to fold and comparisons of ranges.
    work: u64,
}

impl Size {
    pub(super) fn nodes(nodes: usize) -> Self {
        Size { nodes: nodes as u64, ..Size::default() }
    }

    /// Size of a class with the given numbers of ranges and of members.
    pub(super) fn class(ranges: usize, members: u64, ignore_case: bool) -> Self {
        let folded = if ignore_case { (3 * members).min(FOLDED_MAX) } else { 0 };
        let work = if ignore_case { members } else { 0 };
        Size { nodes: 1, ranges: ranges as u64 + folded, work }
    }

    /// Size of one more item in a class. The parser compares the ranges of a class after each item.
    pub(super) fn item(items_before: usize, low: char, high: char, ignore_case: bool) -> Self {
        let members = u64::from(u32::from(high) - u32::from(low)) + 1;
        let Size { nodes, ranges, work } = Size::class(1, members, ignore_case);
        Size { nodes, ranges, work: work + items_before as u64 }
    }

    /// Additional size of a bracketed class with folded parts and others: the parser folds the whole class again.
    pub(super) fn mixed_fold() -> Self {
        Size { nodes: 0, ranges: FOLDED_MAX, work: CODE_POINTS }
    }

    /// Adds the size of a part of a pattern. The error has the code of Go's `ErrLarge`.
    pub(super) fn add<'a>(&mut self, part: Size, pattern: &'a str) -> Result<(), RegexError<'a>> {
        self.nodes += part.nodes;
        self.ranges += part.ranges;
        self.work += part.work;
        let fits = self.nodes <= NODES_MAX && self.ranges <= RANGES_MAX && self.work <= WORK_MAX;
        if fits { Ok(()) } else { Err((super::TOO_LARGE, pattern)) }
    }

    /// Steps for building the classes. Nodes are not included; they are fewer than the bytes of the pattern.
    pub(super) fn steps(self) -> u64 {
        self.ranges / 2 + self.work / 16
    }
}
