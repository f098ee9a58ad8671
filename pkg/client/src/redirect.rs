//! Marker for redirected requests.

/// Marks a redirected request for another origin, which gets no token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrossOriginRedirect;
