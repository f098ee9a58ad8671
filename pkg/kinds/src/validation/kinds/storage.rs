//! The kinds of storage.k8s.io.

pub(crate) mod attachment;
pub(crate) mod capacity;
pub(crate) mod class;
pub(crate) mod csi_driver;
pub(crate) mod csi_node;
