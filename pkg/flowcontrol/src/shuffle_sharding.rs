//! Shuffle sharding: selects the queues of a flow. Equal hashes get equal hands, the same as upstream's
//! (`apiserver/pkg/util/shufflesharding`).

use smallvec::SmallVec;

/// Maximum hand size that [`Dealer::new`] accepts.
const HAND_MAX: usize = 15;
/// Maximum number of hash bits for a hand, so that all hands are about equally likely.
const ENTROPY_BITS_MAX: f64 = 60.0;
const DECK_MAX: u32 = 1 << 26;

/// Distinct queue numbers.
pub(crate) type Hand = SmallVec<[u32; HAND_MAX]>;

/// Deals hands of one size from one deck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dealer {
    deck: u32,
    hand: u32,
}

impl Dealer {
    /// Creates a dealer of `hand` cards from a deck of `deck`. Returns `None` if there is no such hand, or a
    /// hash has too few bits to choose it.
    pub(crate) fn new(deck: u32, hand: u32) -> Option<Self> {
        let possible = (1..=deck).contains(&hand) && deck <= DECK_MAX;
        let entropy_bits = (f64::from(deck).log2() * f64::from(hand)).ceil();
        (possible && entropy_bits <= ENTROPY_BITS_MAX).then_some(Dealer { deck, hand })
    }

    /// Returns the deck size.
    pub(crate) fn deck(self) -> u32 {
        self.deck
    }

    /// Returns the hand of a flow hash. The digits of the hash select the cards; each digit's base is the
    /// number of remaining cards.
    pub(crate) fn deal(self, mut hash: u64) -> Hand {
        let mut digits = Hand::new();
        let mut hand = Hand::new();
        for remaining in (self.deck - self.hand + 1..=self.deck).rev() {
            let digit = u32::try_from(hash % u64::from(remaining)).unwrap_or_default();
            hash /= u64::from(remaining);
            // The digit counts remaining cards only, so step over those already dealt.
            let card = digits.iter().rev().fold(digit, |card, &dealt| card + u32::from(card >= dealt));
            digits.push(digit);
            hand.push(card);
        }
        hand
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &str = include_str!("testdata/upstream.txt");

    #[test]
    fn hands_equal_upstreams() {
        let mut hands = 0;
        for line in NUMBERS.lines().filter_map(|line| line.strip_prefix("deal ")) {
            let (question, hand) = line.split_once(": ").unwrap();
            let question: Vec<u64> = question.split(' ').map(|number| number.parse().unwrap()).collect();
            let hand: Vec<u32> = hand.split(' ').map(|card| card.parse().unwrap()).collect();
            let dealer = Dealer::new(question[0] as u32, question[1] as u32).unwrap();
            assert_eq!(dealer.deal(question[2]).to_vec(), hand, "{line}");
            hands += 1;
        }
        assert_eq!(hands, 28);
    }

    #[test]
    fn impossible_hands_are_rejected() {
        let lines: Vec<&str> = NUMBERS.lines().filter_map(|line| line.strip_prefix("dealer ")).collect();
        assert_eq!(lines.len(), 9);
        for line in lines {
            let (size, good) = line.split_once(": ").unwrap();
            let (deck, hand) = size.split_once(' ').unwrap();
            let dealer = Dealer::new(deck.parse().unwrap(), hand.parse().unwrap());
            assert_eq!(dealer.is_some().to_string(), good, "{line}");
        }
    }
}
