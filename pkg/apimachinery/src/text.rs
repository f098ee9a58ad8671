//! Texts as they are compared on the way of every request.

/// Whether two texts are equal. Two empty ones, such as names of the core group, are not left to `memcmp`: it may load
/// from their dangling address with every byte masked out, which takes some processors longer than all other
/// comparisons of a request.
pub fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && (other.is_empty() || one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_if_their_bytes_are() {
        for (one, other) in [("", ""), ("a", "a"), ("", "a"), ("ab", "ac"), ("a", "ab")] {
            assert_eq!(same(one, other), one == other, "{one:?} {other:?}");
        }
    }
}
