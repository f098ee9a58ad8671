//! Encryption algorithms, with upstream's formats. Each appends its ciphertext to the caller's buffer, so
//! that prefixes cost no copy.

mod cbc;
mod extended;
mod gcm;
mod secretbox;

pub use cbc::Cbc;
pub use extended::ExtendedGcm;
pub use gcm::Gcm;
pub use secretbox::Secretbox;

use crate::Error;

/// Error of every algorithm for a value that is too short.
const TOO_SHORT: &str = "the stored data was shorter than the required size";

fn too_short() -> Error {
    Error::new(TOO_SHORT)
}

/// Error for a key that the library rejects although its length is right: no memory, or no such algorithm.
fn cipher_error(_: aws_lc_rs::error::Unspecified) -> Error {
    Error::new("the cipher cannot be used")
}

#[cfg(test)]
mod tests;
