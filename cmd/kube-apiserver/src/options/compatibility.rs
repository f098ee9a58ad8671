//! `--emulated-version`, `--min-compatibility-version` and `--feature-gates`. Values are per component; the
//! only component here is `kube`, which is also the default.

use std::collections::BTreeMap;

use component_base::features::{Effective, Gates, Release};

use super::error::OptionError;
use crate::flags::{Flags, switch};

/// Component name of this server.
const KUBE: &str = "kube";

/// Returns the feature gates and the releases that determine them.
///
/// # Errors
/// Upstream's text for unparsable values, one or several. Releases that are out of range are reported by
/// [`errors`].
pub(super) fn gates(flags: &Flags) -> Result<Gates, OptionError> {
    let emulated = release(flags, "emulated-version")?;
    let mut effective = emulated.map_or_else(Effective::default, Effective::emulating);
    if let Some(oldest) = release(flags, "min-compatibility-version")? {
        effective.min_compatibility = oldest;
    }
    let explicit = explicit_gates(flags)?;
    Gates::new(effective, explicit.iter().map(|(gate, open)| (gate.as_str(), *open)))
        .map_err(|errors| OptionError::Invalid(errors.iter().map(ToString::to_string).collect()))
}

/// Checks the releases together with other flags, with upstream's error texts.
pub(super) fn errors(flags: &Flags, effective: Effective) -> Vec<String> {
    let mut errors = effective.errors();
    let forward = [
        ("emulation-forward-compatible", "EmulationForwardCompatible"),
        ("runtime-config-emulation-forward-compatible", "RuntimeConfigEmulationForwardCompatible"),
    ];
    for (_, option) in forward.iter().filter(|(flag, _)| flags.bool(flag) && !effective.is_emulation()) {
        errors.push(format!(
            "ServerRunOptions.{option} cannot be set to true if the emulation version is the same as the \
             binary version"
        ));
    }
    errors
}

/// Returns the release that a flag sets for this server, as `kube=1.35` or `1.35`.
fn release(flags: &Flags, flag: &str) -> Result<Option<Release>, OptionError> {
    let mut releases: BTreeMap<String, Release> = BTreeMap::new();
    for item in flags.list(flag) {
        let (component, text) = match item.split_once('=') {
            Some((component, text)) => (component.trim(), text.trim()),
            None => (KUBE, item.as_str()),
        };
        let (release, patch) = Release::parse(text)?;
        if patch != 0 {
            return Err(OptionError::invalid(format!(
                "patch version not allowed, got: {component}={release}.{patch}"
            )));
        }
        if let Some(first) = releases.get(component) {
            return Err(OptionError::invalid(format!(
                "duplicate version flag, {component}={first} and {component}={release}"
            )));
        }
        releases.insert(component.to_owned(), release);
    }
    match releases.keys().find(|component| *component != KUBE) {
        Some(component) => Err(unregistered(component)),
        None => Ok(releases.remove(KUBE)),
    }
}

/// Returns the explicitly set gates in order.
fn explicit_gates(flags: &Flags) -> Result<Vec<(String, bool)>, OptionError> {
    let values = flags.list("feature-gates");
    let pairs = values.iter().flat_map(|value| value.split(',')).filter(|pair| !pair.is_empty());
    let mut by_component: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pair in pairs {
        let (component, pair) = pair.split_once(':').unwrap_or(("", pair));
        by_component.entry(component.trim()).or_default().push(pair.trim());
    }
    if by_component.contains_key("") && by_component.contains_key(KUBE) {
        return Err(OptionError::invalid(
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
        ));
    }
    if let Some(unknown) = by_component.keys().find(|component| !matches!(**component, "" | KUBE)) {
        return Err(unregistered(unknown));
    }
    by_component.values().flatten().filter(|pair| !pair.is_empty()).map(|pair| gate(pair)).collect()
}

fn gate(pair: &str) -> Result<(String, bool), OptionError> {
    let (name, value) =
        pair.split_once('=').ok_or_else(|| OptionError::invalid(format!("missing bool value for {pair}")))?;
    let name = name.trim();
    let value = value.trim();
    match switch(value) {
        Ok(open) => Ok((name.to_owned(), open)),
        Err(source) => Err(OptionError::Gate { name: name.to_owned(), value: value.to_owned(), source }),
    }
}

fn unregistered(component: &str) -> OptionError {
    OptionError::invalid(format!("component not registered: {component}"))
}
