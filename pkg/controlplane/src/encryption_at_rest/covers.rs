//! Which keys are encrypted how.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use api::resources;
use encryption::{Protection, Rules};
use storage::Revision;

/// How many resources that are defined at run time are remembered. Looking the others up takes longer.
const CUSTOM_MAX: usize = 4_096;

/// The rules of a configuration, by what keys begin with.
pub(super) struct Covers {
    rules: Rules,
    /// What every key begins with, with slashes at both ends.
    prefix: String,
    /// How built-in resources are encrypted, by what their keys have behind that.
    built_in: HashMap<&'static str, Option<Protection>>,
    /// The same of others, as far as somebody has asked.
    custom: Mutex<HashMap<Box<str>, Option<Protection>>>,
    doubts: Doubts,
}

/// Which values were last opened by the rules of an earlier configuration, and may not open by these.
#[derive(Clone, Copy)]
enum Doubts {
    /// None: there was no other configuration.
    None,
    /// What these rules are about, if it was written up to a revision.
    Covered(Revision),
    /// The same of anything: something is not encrypted any more that was.
    All(Revision),
}

/// What is known of the keys of a list.
pub(super) enum Cover {
    /// All of them are treated alike.
    Same(Option<Protection>),
    /// They are of several resources.
    Mixed,
}

impl Covers {
    /// Finds out what rules mean for keys below `prefix`.
    pub(super) fn new(rules: Rules, prefix: &str) -> Self {
        let mut built_in = HashMap::new();
        // Versions share a storage, and events also share it with those of another group; configurations know them
        // by the first.
        for row in resources::all() {
            if let Some(storage) = &row.storage {
                built_in
                    .entry(storage.prefix)
                    .or_insert_with(|| rules.protection(group_of(row.group, storage.prefix), row.plural));
            }
        }
        let prefix = format!("/{}/", prefix.trim_matches('/'));
        Covers { rules, prefix, built_in, custom: Mutex::default(), doubts: Doubts::None }
    }

    /// They take over from others; what was written up to `revision` may have been opened by those.
    pub(super) fn succeed(&mut self, others: &Covers, revision: Revision) {
        let all = matches!(others.doubts, Doubts::All(_)) || !self.rules.are_about_all_of(&others.rules);
        self.doubts = if all { Doubts::All(revision) } else { Doubts::Covered(revision) };
    }

    /// Whether a value that was read before, of a write at `revision`, may read differently now.
    pub(super) fn is_doubtful(&self, key: &str, revision: Revision) -> bool {
        match self.doubts {
            Doubts::None => false,
            Doubts::Covered(until) => revision <= until && self.of(key).is_some(),
            Doubts::All(until) => revision <= until,
        }
    }

    /// The rules.
    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How the value of a key is encrypted; `None` for one that is not. What is no object of an API is not: nobody
    /// could have it written anew under another key.
    pub(super) fn of(&self, key: &str) -> Option<Protection> {
        match self.of_keys_below(key) {
            Cover::Same(protection) => protection,
            Cover::Mixed => None,
        }
    }

    /// How the values of all keys are encrypted that begin like this.
    pub(super) fn of_keys_below(&self, begin: &str) -> Cover {
        let Some(rest) = begin.strip_prefix(&*self.prefix) else { return Cover::Same(None) };
        let Some((first, after)) = rest.split_once('/') else { return Cover::Mixed };
        if let Some(protection) = self.built_in.get(first) {
            return Cover::Same(protection.clone());
        }
        let Some((second, _)) = after.split_once('/') else { return Cover::Mixed };
        let both = rest.get(..first.len() + 1 + second.len()).unwrap_or_default();
        if let Some(protection) = self.built_in.get(both) {
            return Cover::Same(protection.clone());
        }
        // The group of a custom resource has a dot in it, and nothing else has.
        if first.contains('.') { Cover::Same(self.custom(both, first, second)) } else { Cover::Same(None) }
    }

    fn custom(&self, both: &str, group: &str, plural: &str) -> Option<Protection> {
        let mut custom = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(protection) = custom.get(both) {
            return protection.clone();
        }
        let protection = self.rules.protection(group, plural);
        if custom.len() < CUSTOM_MAX {
            custom.insert(both.into(), protection.clone());
        }
        protection
    }
}

/// The group by which configurations know a built-in resource.
fn group_of<'g>(group: &'g str, storage_prefix: &str) -> &'g str {
    if storage_prefix == "events" { "" } else { group }
}
