//! `/debug/console`: shows problems while they exist, as JSON and in a real browser through `kubectl proxy`,
//! and rejects unauthorized users.
//!
//! Without Chromium and its driver the browser tests are skipped with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "console/browser.rs"]
mod browser;
#[path = "console/incident.rs"]
mod incident;
#[path = "console/page.rs"]
mod page;
#[path = "console/state.rs"]
mod state;
