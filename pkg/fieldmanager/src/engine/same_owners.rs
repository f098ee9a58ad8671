//! Updates after which all managers own the same fields. Most updates are of this kind: a controller sets its
//! fields to other values. Such an update changes at most the time of one entry, so no fields are decoded.

use jsontree::Value;

use super::Engine;
use crate::cap::UPDATERS_MAX;
use crate::entries::{Operation, Origin, UndecodedEntry};
use crate::structured_merge::Set;
use crate::structured_merge::set::FieldsText;
use crate::structured_merge::typed::{self, Comparison, Duplicates};
use crate::structured_merge::updater::Updater;

/// Limit of entries. Objects with more are rare, and all their entries are decoded.
const ENTRIES_MAX: usize = 16;

impl Engine<'_> {
    /// Computes the entries after an update from `live` to `new`, if no owner changes. `None` if owners may
    /// change; [`update`](Self::update) has the same result in all cases. Both objects are in the version of the
    /// endpoint, and `entries` come from [`undecoded`](Self::undecoded).
    ///
    /// Each manager owns the same fields after the update if
    /// - the writer owns all fields that it sets, and none that it removes (`update` takes the fields from it
    ///   and gives them back),
    /// - no other manager owns any of these fields, and
    /// - no set is empty or must be adapted to the type.
    pub(crate) fn update_same_owners(
        &self,
        live: &Value,
        new: &Value,
        mut entries: Vec<UndecodedEntry<'_>>,
        writer: &Origin,
    ) -> Option<Vec<Value>> {
        let ty = self.type_of().ok()?;
        for value in [new, live] {
            typed::validate(value, ty, Duplicates::Allow).ok()?;
        }
        let comparison = Updater(self.converter).compare(live, new, self.api_version).ok()?;
        let changes = Changes::of(comparison, self.unowned);
        for entry in &mut entries {
            let fields = FieldsText(entry.fields);
            let keeps_fields = if !changes.owned.is_empty() && is_of(entry, writer) {
                entry.time = writer.time;
                fields.has(&changes.owned, &changes.lost, ty)
            } else {
                fields.has(&Set::new(), &changes.all, ty)
            };
            if !keeps_fields {
                return None;
            }
        }
        entries.sort_by(|a, b| a.place().cmp(&b.place()));
        Some(entries.into_iter().map(UndecodedEntry::into_value).collect())
    }

    /// Reads entries without their fields. `None` if the writer has none, or if an update always changes them:
    /// they have other versions, too many updaters or a form that the server does not write.
    pub(crate) fn undecoded<'e>(
        &self,
        stored: &'e [Value],
        writer: &Origin,
    ) -> Option<Vec<UndecodedEntry<'e>>> {
        if stored.len() > ENTRIES_MAX {
            return None;
        }
        let mut entries: Vec<UndecodedEntry<'e>> = Vec::with_capacity(stored.len());
        for (index, entry) in stored.iter().enumerate() {
            let entry = UndecodedEntry::of(index, entry).ok()?;
            let is_repeated = entries.iter().any(|other| other.has_owner_of(&entry));
            if entry.api_version != self.api_version || !entry.is_normal() || is_repeated {
                return None;
            }
            entries.push(entry);
        }
        let updaters = entries.iter().filter(|entry| entry.operation == Operation::Update).count();
        let has_writer = entries.iter().any(|entry| is_of(entry, writer));
        (has_writer && updaters <= UPDATERS_MAX).then_some(entries)
    }
}

/// Changed fields of an update.
struct Changes {
    /// Set fields that the manager of the update then owns.
    owned: Set,
    /// Set fields that no manager owns, and removed ones.
    lost: Set,
    all: Set,
}

impl Changes {
    fn of(comparison: Comparison, unowned: &Set) -> Self {
        let Comparison { removed, modified, added } = comparison;
        let set = modified.union(&added);
        let mut owned = set.clone();
        owned.subtract(unowned);
        let mut lost = set.clone();
        lost.subtract(&owned);
        lost.unite_ref(&removed);
        let all = set.union(&removed);
        Changes { owned, lost, all }
    }
}

/// True for the entry of a manager. All entries have the same version.
fn is_of(entry: &UndecodedEntry<'_>, origin: &Origin) -> bool {
    entry.operation == origin.operation
        && entry.manager == origin.manager
        && entry.subresource == origin.subresource
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]
mod tests;
