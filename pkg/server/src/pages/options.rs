//! Options of the pages that the server handles itself.

use std::sync::Arc;

use component_base::metrics::Selection;

use crate::pages::debugging::DebugPages;
use crate::pages::snapshots::TakeSnapshot;
use crate::pages::zpages::FlagValue;

/// Options of the pages besides health and metrics.
#[derive(Clone, Default)]
pub struct PageOptions {
    /// Flags for `/flagz`; `None` disables the page (`ComponentFlagz`).
    pub flags: Option<Arc<[FlagValue]>>,
    /// True to serve `/statusz` (`ComponentStatusz`).
    pub statusz: bool,
    /// True if both pages support CBOR (`CBORServingAndStorage`).
    pub cbor: bool,
    /// Configuration of `/debug`; `None` disables it (`--profiling`).
    pub debugging: Option<DebugPages>,
    pub metrics: Selection,
    /// Takes store snapshots; `None` disables `/embedded/snapshot`.
    pub snapshot: Option<TakeSnapshot>,
}

impl std::fmt::Debug for PageOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PageOptions { flags, statusz, cbor, debugging, metrics, snapshot } = self;
        let flagz = flags.is_some();
        let debug = debugging.is_some();
        f.debug_struct("PageOptions")
            .field("flagz", &flagz)
            .field("statusz", statusz)
            .field("cbor", cbor)
            .field("debug", &debug)
            .field("metrics", metrics)
            .field("snapshot", &snapshot.is_some())
            .finish()
    }
}
