//! A chunked list. A patch may insert and remove 10,000 times at the front of a list of a million items; a
//! single vector would move all items each time.

/// A chunk is split when it exceeds twice this number of items.
const CHUNK_ITEMS: usize = 512;

/// Items in order. Finding an item passes the chunks before it; inserting and removing move the items of one
/// chunk.
#[derive(Debug, Clone)]
pub(super) struct List<T> {
    /// Contains no empty chunks.
    chunks: Vec<Vec<T>>,
    length: usize,
}

impl<T> List<T> {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (piece, at) = self.locate(index)?;
        self.chunks.get_mut(piece)?.get_mut(at)
    }

    pub(super) fn push(&mut self, item: T) {
        match self.chunks.last_mut().filter(|last| last.len() < CHUNK_ITEMS) {
            Some(last) => last.push(item),
            None => self.chunks.push(vec![item]),
        }
        self.length = self.length.saturating_add(1);
    }

    /// Inserts an item before the one at `index`, or at the end.
    pub(super) fn insert(&mut self, index: usize, item: T) {
        let Some((at_piece, at)) = self.locate(index) else { return self.push(item) };
        let Some(piece) = self.chunks.get_mut(at_piece) else { return };
        piece.insert(at, item);
        if piece.len() > CHUNK_ITEMS.saturating_mul(2) {
            let rest = piece.split_off(CHUNK_ITEMS);
            self.chunks.insert(at_piece.saturating_add(1), rest);
        }
        self.length = self.length.saturating_add(1);
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<T> {
        let (at_piece, at) = self.locate(index)?;
        let piece = self.chunks.get_mut(at_piece)?;
        let item = piece.remove(at);
        if piece.is_empty() {
            self.chunks.remove(at_piece);
        }
        self.length = self.length.saturating_sub(1);
        Some(item)
    }

    /// The chunk of an item, and its index in the chunk.
    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        let mut remaining = index;
        for (number, piece) in self.chunks.iter().enumerate() {
            match remaining.checked_sub(piece.len()) {
                Some(rest) => remaining = rest,
                None => return Some((number, remaining)),
            }
        }
        None
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { chunks: Vec::new(), length: 0 }
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = List::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_list_equals_vector() {
        for start in [0, 1, CHUNK_ITEMS, 5 * CHUNK_ITEMS] {
            let mut expected: Vec<usize> = (0..start).collect();
            let mut list: List<usize> = expected.iter().copied().collect();
            let mut random: usize = 1;
            for number in 0..6000 {
                random = (random * 48_271) % 2_147_483_647;
                let at = random % (expected.len() + 1);
                // First there are more insertions than removals, later fewer.
                if (random >> 16) % 4 < if number < 3000 { 3 } else { 1 } {
                    expected.insert(at, number);
                    list.insert(at, number);
                } else if at < expected.len() {
                    assert_eq!(list.remove(at), Some(expected.remove(at)));
                }
                assert_eq!(list.len(), expected.len());
                assert_eq!(list.get_mut(at).copied(), expected.get(at).copied());
            }
            assert!(list.iter().eq(&expected));
        }
    }

    #[test]
    fn large_lists_have_full_chunks() {
        let mut list: List<usize> = (0..1_000_000).collect();
        assert!(list.chunks.len() <= 2_000);
        for _ in 0..10_000 {
            list.insert(0, 0);
        }
        assert!(list.chunks.len() <= 2_100);
        assert!(list.chunks.iter().all(|piece| piece.len() <= 2 * CHUNK_ITEMS));
    }
}
