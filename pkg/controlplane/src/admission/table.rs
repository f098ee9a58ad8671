//! Upstream's admission plugins, their order of execution and their defaults.

use component_base::features::{Gate, Gates};

use crate::config::AdmissionConfig;

mod plugins;

pub use plugins::PLUGINS;

/// Description of an admission plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginInfo {
    /// Upstream's name.
    pub name: &'static str,
    /// True if the plugin runs unless disabled. Otherwise it runs only if enabled.
    pub on_by_default: bool,
    /// The feature gate that the plugin depends on.
    pub gate: Option<Gate>,
}

const fn default_on(name: &'static str) -> PluginInfo {
    PluginInfo { name, on_by_default: true, gate: None }
}

const fn default_off(name: &'static str) -> PluginInfo {
    PluginInfo { name, on_by_default: false, gate: None }
}

const fn gated(gate: Gate, plugin: PluginInfo) -> PluginInfo {
    PluginInfo { gate: Some(gate), ..plugin }
}

/// Returns the description of the plugin with this name.
pub fn find_plugin(name: &str) -> Option<&'static PluginInfo> {
    PLUGINS.iter().find(|plugin| plugin.name == name)
}

/// Returns the plugins that upstream would run with this configuration, in order.
pub fn enabled_plugins(
    config: &AdmissionConfig,
    gates: Gates,
) -> impl Iterator<Item = &'static PluginInfo> + '_ {
    let contains = |names: &[String], plugin: &PluginInfo| names.iter().any(|name| name == plugin.name);
    PLUGINS.iter().filter(move |plugin| {
        let enabled = plugin.on_by_default || contains(&config.enabled, plugin);
        enabled && !contains(&config.disabled, plugin) && plugin.is_gate_enabled(gates)
    })
}

impl PluginInfo {
    /// True if the plugin's feature gate is enabled, or if it has none.
    pub fn is_gate_enabled(&self, gates: Gates) -> bool {
        self.gate.is_none_or(|gate| gates.enabled(gate))
    }
}
