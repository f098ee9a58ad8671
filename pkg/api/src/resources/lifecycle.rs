//! When an API version came, when it was deprecated, when it goes.

use std::fmt::Write;

/// The minor release (of Kubernetes 1.x) whose API this server speaks.
const CURRENT: u32 = 36;

/// Minor releases of Kubernetes 1.x at which a kind of one version changes its standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle {
    /// First release that serves it; none where it was never declared.
    pub introduced: Option<u32>,
    /// First release that warns about its use.
    pub deprecated: Option<u32>,
    /// First release that no longer serves it.
    pub removed: Option<u32>,
    /// `apiVersion Kind` to use instead; empty for none.
    pub replacement: &'static str,
}

/// Nothing is declared.
pub(super) const UNVERSIONED: Lifecycle =
    Lifecycle { introduced: None, deprecated: None, removed: None, replacement: "" };

/// Served since 1.`minor`.
pub(super) const fn since(minor: u32) -> Lifecycle {
    Lifecycle { introduced: Some(minor), ..UNVERSIONED }
}

impl Lifecycle {
    pub(super) const fn deprecated(self, minor: u32) -> Lifecycle {
        Lifecycle { deprecated: Some(minor), ..self }
    }

    pub(super) const fn removed(self, minor: u32) -> Lifecycle {
        Lifecycle { removed: Some(minor), ..self }
    }

    pub(super) const fn replaced_by(self, replacement: &'static str) -> Lifecycle {
        Lifecycle { replacement, ..self }
    }

    /// The deprecation warning for a kind, or none while it is not deprecated yet.
    pub fn warning(&self, api_version: &str, kind: &str) -> Option<String> {
        let deprecated = self.deprecated.filter(|&minor| minor <= CURRENT)?;
        let mut text = format!("{api_version} {kind} is deprecated in v1.{deprecated}+");
        if let Some(removed) = self.removed {
            let _ = write!(text, ", unavailable in v1.{removed}+");
        }
        if !self.replacement.is_empty() {
            let _ = write!(text, "; use {}", self.replacement);
        }
        Some(text)
    }
}
