//! Runs the contents of `deploy/`: manifests' commands with certificates in kubeadm's layout against an etcd
//! with TLS, the systemd unit's command, alert rules evaluated over metrics pages, and backup and restore.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod deploy {
    mod backup;
    mod balancer;
    mod hardening;
    pub(crate) mod host;
    mod image;
    pub(crate) mod manifests;
    mod metrics;
    mod mixin;
    mod monitoring;
    pub(crate) mod page;
    pub(crate) mod pki;
    mod unit;
}
