//! Names made from `metadata.generateName` and a short random suffix.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

/// Longest name that generation aims at, in bytes.
pub const NAME_BYTES_MAX: usize = 63;
/// Number of characters in the random suffix.
pub const SUFFIX_CHARS: usize = 5;
/// Longest part of a generateName that is used, in bytes.
pub const GENERATED_BASE_BYTES_MAX: usize = NAME_BYTES_MAX - SUFFIX_CHARS;
/// The characters of a suffix: no vowels, nothing that looks like one, so that
/// no words come out.
pub const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A random suffix of [`SUFFIX_CHARS`] characters; `random` yields uniformly
/// distributed words, one for each character.
pub fn random_suffix(random: &mut dyn FnMut() -> u32) -> String {
    (0..SUFFIX_CHARS).map(|_| suffix_char(random())).collect()
}

/// Scales a uniform word down to the alphabet (bias below 2^-27).
fn suffix_char(word: u32) -> char {
    let scaled = (u64::from(word) * SUFFIX_ALPHABET.len() as u64) >> 32;
    let byte = usize::try_from(scaled).ok().and_then(|index| SUFFIX_ALPHABET.get(index));
    byte.map_or('b', |&byte| char::from(byte))
}

/// The base, cut to [`GENERATED_BASE_BYTES_MAX`] bytes, with a random suffix.
/// A character cut in half becomes U+FFFD, as in upstream's JSON.
pub fn generate(base: &str, random: &mut dyn FnMut() -> u32) -> String {
    let bytes = base.as_bytes();
    let head = bytes.get(..GENERATED_BASE_BYTES_MAX).unwrap_or(bytes);
    let mut name = String::from_utf8_lossy(head).into_owned();
    name.push_str(&random_suffix(random));
    name
}
