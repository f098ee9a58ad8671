//! A flow schema as requests meet it.

use std::sync::Arc;

use crate::config::Distinguisher;
use crate::figures::SchemaFigures;

/// A flow schema at its level.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: Box<str>,
    /// What tells its flows apart; `None` if nothing does, or they share one queue anyway.
    pub(crate) distinguisher: Option<Distinguisher>,
    /// What is counted of it. Lasts longer than its configuration.
    pub(crate) figures: Arc<SchemaFigures>,
}
