//! CustomResourceDefinitions: serving custom resources, their conversion webhooks and the conditions of definitions
//! (upstream's `apiextensions-apiserver`).

mod custom_kinds;
mod custom_resources;
mod custom_versions;

pub use custom_kinds::CustomKinds;
pub use custom_resources::{
    ConversionDeps, ConversionMetrics, CustomResources, DefinitionMetrics, DefinitionsHandle,
    DefinitionsSnapshot, OnDemandDefinitions,
};
pub use custom_versions::CustomVersions;
