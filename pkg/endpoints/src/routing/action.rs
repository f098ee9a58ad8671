//! Action of a request on its resource.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// GET of an object or subresource.
    Get,
    /// GET of a collection, which may be a watch.
    List,
    /// The old `/watch/` paths.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// Proxy request to a backend, with any method.
    Connect,
}
