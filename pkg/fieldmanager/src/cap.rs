//! Limit of updating managers: the oldest ones are merged.

use std::collections::BTreeMap;

use crate::structured_merge::Set;

use super::entries::{Managed, Operation, Origin};

/// Upstream's default limit of managers with the operation Update.
pub(super) const UPDATERS_MAX: usize = 10;

/// Merges the oldest updaters of a version into a bucket named `ancient-changes`, until the limit holds or no
/// version has two updaters left. The first updater of a version stays unchanged until a second one follows.
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

/// Sets to merge, by bucket. The bucket is empty meanwhile; one union at the end is cheaper than one for each
/// updater.
type BucketSets = BTreeMap<String, Vec<Set>>;

/// Moves the fields of an updater into the bucket of its version. A new bucket also takes the fields of the
/// first updater. The bucket's time becomes that of the merged updater. If the updater is the bucket itself,
/// it takes the first one (upstream loses the bucket in that case).
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
    let sets = gathered.entry(identifier.clone()).or_default();
    sets.push(std::mem::take(&mut incoming_set.set));
    if let Some(older) = managed.sets.remove(older) {
        sets.push(older.set);
        incoming_set.changed = true;
    }
    managed.sets.insert(identifier.clone(), incoming_set);
    managed.origins.insert(identifier, bucket);
}

#[cfg(test)]
mod tests;
