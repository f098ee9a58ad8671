//! Names made from `metadata.generateName` and a short random suffix.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

/// Maximum length of a generated name in bytes, if the base was cut.
pub const NAME_BYTES_MAX: usize = 63;
/// Number of characters in the random suffix.
pub const SUFFIX_CHARS: usize = 5;
/// Maximum used length of a generateName in bytes.
pub const GENERATED_BASE_BYTES_MAX: usize = NAME_BYTES_MAX - SUFFIX_CHARS;
/// Alphabet of a suffix: no vowels and no characters that look like vowels, so that no words result.
pub const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns a random suffix of [`SUFFIX_CHARS`] characters. `random` returns uniformly distributed words, one
/// per character.
pub fn random_suffix(random: &mut dyn FnMut() -> u32) -> String {
    (0..SUFFIX_CHARS).map(|_| suffix_char(random())).collect()
}

/// Scales a uniform word down to the alphabet (bias below 2^-27).
fn suffix_char(word: u32) -> char {
    let scaled = (u64::from(word) * SUFFIX_ALPHABET.len() as u64) >> 32;
    let byte = usize::try_from(scaled).ok().and_then(|index| SUFFIX_ALPHABET.get(index));
    byte.map_or('b', |&byte| char::from(byte))
}

/// Returns the base, cut to [`GENERATED_BASE_BYTES_MAX`] bytes, with a random suffix. A character that is cut
/// in half becomes U+FFFD, as in upstream's JSON.
pub fn generate(base: &str, random: &mut dyn FnMut() -> u32) -> String {
    let bytes = base.as_bytes();
    let head = bytes.get(..GENERATED_BASE_BYTES_MAX).unwrap_or(bytes);
    let mut name = String::from_utf8_lossy(head).into_owned();
    name.push_str(&random_suffix(random));
    name
}
