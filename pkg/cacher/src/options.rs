//! What the cache may take.

use crate::core::Limits;

/// How a [`crate::Delegator`] caches.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether to cache at all (`--watch-cache`). Which resources are cached is said by each
    /// [`crate::ResourceConfig`].
    pub enabled: bool,
    /// What encoded forms of objects may take, over all resources, in bytes.
    pub forms_bytes_max: usize,
    /// What the frames of recent events may take, over all resources, in bytes.
    pub frames_bytes_max: usize,
    /// How much of the past each resource keeps.
    pub limits: Limits,
    /// Whether a cache is filled when somebody first lists or watches, and not before; until then storage says how an
    /// object is. For stores that are in this process and may have much that nobody will ask for.
    pub when_asked: bool,
    /// How many resources are listed at the same time while the caches are filled.
    pub fills_max: usize,
    /// How many changes of one resource are held back while it is being filled. If more come in, the
    /// resource is listed again.
    pub held_back_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            enabled: true,
            forms_bytes_max: 64 << 20,
            frames_bytes_max: 16 << 20,
            limits: Limits::default(),
            when_asked: false,
            fills_max: 4,
            held_back_max: 100_000,
        }
    }
}
