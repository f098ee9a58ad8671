//! `--authorization-mode`: which authorizers are asked, in which order.

use std::sync::Arc;

use crate::rbac::{Rbac, Roles};
use crate::{AlwaysAllow, AlwaysDeny, Authorizer, MastersOnly, Union};

/// An authorization mode of upstream's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everyone may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
    /// A file of policies.
    Abac,
    /// An external service.
    Webhook,
    /// Roles and bindings.
    Rbac,
    /// What kubelets may do.
    Node,
}

impl Mode {
    /// The mode that the flag calls `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "AlwaysAllow" => Mode::AlwaysAllow,
            "AlwaysDeny" => Mode::AlwaysDeny,
            "ABAC" => Mode::Abac,
            "Webhook" => Mode::Webhook,
            "RBAC" => Mode::Rbac,
            "Node" => Mode::Node,
            _ => return None,
        })
    }

    /// Whether the mode decides anything in this version. One that does not has no opinion on any
    /// request, which refuses everyone but `system:masters`.
    pub fn is_built(self) -> bool {
        matches!(self, Mode::AlwaysAllow | Mode::AlwaysDeny | Mode::Rbac)
    }

    /// The authorizer for a list of modes: `system:masters` first, then each mode in order. `roles` are what RBAC
    /// decides by.
    pub fn authorizer(modes: &[Mode], roles: &Arc<dyn Roles>) -> Arc<dyn Authorizer> {
        let mut authorizers: Vec<Arc<dyn Authorizer>> = vec![Arc::new(MastersOnly)];
        for mode in modes {
            match mode {
                Mode::AlwaysAllow => authorizers.push(Arc::new(AlwaysAllow)),
                Mode::AlwaysDeny => authorizers.push(Arc::new(AlwaysDeny)),
                Mode::Rbac => authorizers.push(Arc::new(Rbac(Arc::clone(roles)))),
                Mode::Abac | Mode::Webhook | Mode::Node => {}
            }
        }
        Arc::new(Union::new(authorizers))
    }
}
