//! The limit on managers that update: the oldest of them are merged.

use std::collections::BTreeMap;

use schema::structured_merge::Set;

use super::entries::{Managed, Operation, Origin};

/// Managers from updates that an object keeps, as upstream's default.
const UPDATERS_MAX: usize = 10;

/// Merges the oldest updaters of a version into one, called `ancient-changes`, until the limit holds
/// or no two of a version are left. The first of a version stays as it is until a second follows.
pub(super) fn cap_updaters(managed: &mut Managed) {
    let mut count = managed.sets.values().filter(|set| !set.applied).count();
    if count <= UPDATERS_MAX {
        return;
    }
    let mut updaters: Vec<(i64, String)> = managed
        .sets
        .iter()
        .filter(|(_, set)| !set.applied)
        .map(|(id, _)| {
            let time = managed.origins.get(id).and_then(|origin| origin.time);
            (time.map_or(0, |time| time.seconds), id.clone())
        })
        .collect();
    updaters.sort_unstable();

    let mut firsts: Vec<(String, String)> = Vec::new();
    let mut gathered = BucketSets::default();
    for (_, identifier) in updaters {
        if count <= UPDATERS_MAX {
            break;
        }
        let Some(version) = managed.sets.get(&identifier).map(|set| set.api_version.to_string()) else {
            continue;
        };
        match firsts.iter().find(|(of, _)| *of == version) {
            None => firsts.push((version, identifier)),
            Some((_, first)) => {
                merge_into_bucket(managed, version, first, &identifier, &mut gathered);
                count -= 1;
            }
        }
    }
    for (identifier, sets) in gathered {
        if let Some(bucket) = managed.sets.get_mut(&identifier) {
            bucket.set = Set::union_of(sets);
        }
    }
}

/// What each bucket is to hold, which is empty meanwhile: united all at once, and not anew with each updater.
type BucketSets = BTreeMap<String, Vec<Set>>;

/// Moves the fields of an updater into the bucket of its version, which takes over those of the first
/// when it is new, and the time of the one that comes in. Where the bucket itself comes in, it takes
/// the first (upstream loses the bucket there).
fn merge_into_bucket(
    managed: &mut Managed,
    version: String,
    first: &str,
    incoming: &str,
    gathered: &mut BucketSets,
) {
    let bucket = Origin {
        manager: "ancient-changes".to_owned(),
        operation: Operation::Update,
        api_version: version,
        subresource: String::new(),
        time: managed.origins.get(incoming).and_then(|origin| origin.time),
        written: None,
    };
    let identifier = bucket.identifier();
    let Some(mut incoming_set) = managed.sets.remove(incoming) else { return };
    let has_bucket = incoming != identifier && managed.sets.contains_key(&identifier);
    let older = if has_bucket { identifier.as_str() } else { first };
    let parts = gathered.entry(identifier.clone()).or_default();
    parts.push(std::mem::take(&mut incoming_set.set));
    if let Some(older) = managed.sets.remove(older) {
        parts.push(older.set);
        incoming_set.changed = true;
    }
    managed.sets.insert(identifier.clone(), incoming_set);
    managed.origins.insert(identifier, bucket);
}
