//! The kinds of storage.k8s.io.

pub(super) mod attachment;
pub(super) mod capacity;
pub(super) mod class;
pub(super) mod csi_driver;
pub(super) mod csi_node;
