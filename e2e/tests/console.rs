//! Claims about `/debug/console`: that it shows what is wrong while it is, as JSON and in a real browser through
//! `kubectl proxy`, and nothing to those who may not look.
//!
//! Without a Chromium and its driver the claims about the page are skipped, and say so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "console/browser.rs"]
mod browser;
#[path = "console/incident.rs"]
mod incident;
#[path = "console/page.rs"]
mod page;
#[path = "console/state.rs"]
mod state;
