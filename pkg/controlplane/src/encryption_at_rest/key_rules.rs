//! Maps storage keys to their encryption.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use api::resources;
use encryption::{Protection, Rules};
use storage::Revision;

/// Maximum number of cached custom resources. Look-ups of others are slower.
const CUSTOM_MAX: usize = 4_096;

/// The encryption rules of a configuration, by key prefix.
pub(super) struct EncryptionRules {
    rules: Rules,
    /// The common key prefix, with slashes at both ends.
    prefix: String,
    /// Encryption of built-in resources, by the key segment after the prefix.
    built_in: HashMap<&'static str, Option<Protection>>,
    /// Encryption of custom resources, filled on demand.
    custom: Mutex<HashMap<Box<str>, Option<Protection>>>,
    stale_values: StaleValues,
    /// The last revision of each store with stale values.
    stale_until: Vec<Revision>,
}

/// Values that were decrypted with an earlier configuration, and may not decrypt with this one.
#[derive(Clone, Copy)]
enum StaleValues {
    /// None: there was no earlier configuration.
    None,
    /// Values of the covered resources.
    Covered,
    /// All values: some resource is no longer encrypted.
    All,
}

/// Encryption of the keys of a list.
pub(super) enum PrefixEncryption {
    /// The same for all keys.
    Same(Option<Protection>),
    /// The keys belong to several resources.
    Mixed,
}

impl EncryptionRules {
    /// Resolves rules for keys below `prefix`.
    pub(super) fn new(rules: Rules, prefix: &str) -> Self {
        let mut built_in = HashMap::new();
        // Versions share a storage location. Events also share it with another group; configurations use the
        // first group.
        for row in resources::all() {
            if let Some(storage) = &row.storage {
                built_in
                    .entry(storage.prefix)
                    .or_insert_with(|| rules.protection(group_of(row.group, storage.prefix), row.plural));
            }
        }
        let prefix = format!("/{}/", prefix.trim_matches('/'));
        EncryptionRules {
            rules,
            prefix,
            built_in,
            custom: Mutex::default(),
            stale_values: StaleValues::None,
            stale_until: Vec::new(),
        }
    }

    /// Marks this configuration as successor of another. Values of each store up to its revision in `revisions` may have been
    /// decrypted with the earlier one.
    pub(super) fn follow_rules(&mut self, previous: &EncryptionRules, revisions: Vec<Revision>) {
        let all = matches!(previous.stale_values, StaleValues::All) || !self.rules.cover(&previous.rules);
        self.stale_values = if all { StaleValues::All } else { StaleValues::Covered };
        self.stale_until = revisions;
    }

    /// True if a value of a store that was read earlier, written at `revision`, may now decrypt differently.
    pub(super) fn needs_reread(&self, store: usize, key: &str, revision: Revision) -> bool {
        let is_old = || self.stale_until.get(store).is_none_or(|until| revision <= *until);
        match self.stale_values {
            StaleValues::None => false,
            StaleValues::Covered => is_old() && self.of(key).is_some(),
            StaleValues::All => is_old(),
        }
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the encryption of a key; `None` if it is not encrypted. Values other than API objects are
    /// never encrypted, because they could not be rewritten with another key.
    pub(super) fn of(&self, key: &str) -> Option<Protection> {
        match self.of_keys_below(key) {
            PrefixEncryption::Same(protection) => protection,
            PrefixEncryption::Mixed => None,
        }
    }

    /// Returns the encryption of all keys with this prefix.
    pub(super) fn of_keys_below(&self, begin: &str) -> PrefixEncryption {
        let Some(rest) = begin.strip_prefix(&*self.prefix) else { return PrefixEncryption::Same(None) };
        let Some((first, after)) = rest.split_once('/') else { return PrefixEncryption::Mixed };
        if let Some(protection) = self.built_in.get(first) {
            return PrefixEncryption::Same(protection.clone());
        }
        let Some((second, _)) = after.split_once('/') else { return PrefixEncryption::Mixed };
        let directory = rest.get(..first.len() + 1 + second.len()).unwrap_or_default();
        if let Some(protection) = self.built_in.get(directory) {
            return PrefixEncryption::Same(protection.clone());
        }
        // Built-in resources were found above. Of the rest, only groups of custom resources contain a dot.
        if first.contains('.') {
            PrefixEncryption::Same(self.custom(directory, first, second))
        } else {
            PrefixEncryption::Same(None)
        }
    }

    fn custom(&self, directory: &str, group: &str, plural: &str) -> Option<Protection> {
        let mut custom = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(protection) = custom.get(directory) {
            return protection.clone();
        }
        let protection = self.rules.protection(group, plural);
        if custom.len() < CUSTOM_MAX {
            custom.insert(directory.into(), protection.clone());
        }
        protection
    }
}

/// Returns the group of a built-in resource in configurations.
fn group_of<'g>(group: &'g str, storage_prefix: &str) -> &'g str {
    if storage_prefix == "events" { "" } else { group }
}
