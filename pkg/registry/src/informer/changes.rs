//! Changes of one resource without a view, for controllers that keep only an index.

use api::resources::Handle;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::ObjectChange;
use super::source::{Item, Source};
use crate::Registry;

/// Item of [`changes`].
#[derive(Debug)]
pub enum ResourceChange {
    /// Object of the initial state, or a later change.
    Change(ObjectChange),
    /// The initial state is complete.
    Complete,
    /// Changes were missed. The stream ends.
    Gap,
}

/// Returns the objects of a stored resource and then their changes, in order. A lost watch is resumed. The
/// stream ends when changes were missed; a new stream then starts with the complete state again.
pub fn changes(registry: &Registry, row: Handle) -> BoxStream<'static, ResourceChange> {
    let items = Source::new(registry.clone(), row).items();
    items
        .map(|item| match item {
            Item::Change(change) => ResourceChange::Change(change),
            Item::Complete => ResourceChange::Complete,
            Item::Gap(_) => ResourceChange::Gap,
        })
        .boxed()
}
