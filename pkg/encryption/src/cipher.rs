//! The algorithms, as upstream uses them. Each seals behind what a buffer has already, so that prefixes cost no copy.

mod cbc;
mod extended;
mod gcm;
mod secretbox;

pub use cbc::Cbc;
pub use extended::ExtendedGcm;
pub use gcm::Gcm;
pub use secretbox::Secretbox;

use crate::Error;

/// What all of them say of a value that cannot be one of theirs.
const TOO_SHORT: &str = "the stored data was shorter than the required size";

fn too_short() -> Error {
    Error::new(TOO_SHORT)
}

/// The library refused to work with a key whose length was right: there is no memory, or no such algorithm.
fn unusable(_: aws_lc_rs::error::Unspecified) -> Error {
    Error::new("the cipher cannot be used")
}

#[cfg(test)]
mod tests;
