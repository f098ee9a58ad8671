//! Checks a write against quotas and computes the new usage.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::tree::child;
use apimachinery::status::Status;
use schema::object::Object;

use super::configuration::LimitedResource;
use super::evaluator::Evaluator;
use super::scope;
use crate::error::RejectionReason;
use crate::resource_list::ResourceList;
use crate::{Attributes, Operation, meta};

/// A quota that counts a write.
struct QuotaUsage {
    /// Position in the list.
    index: usize,
    hard: ResourceList,
    used: ResourceList,
    /// Usage that the write adds.
    delta: ResourceList,
}

/// Returns the new usage of all quotas that the write changes.
///
/// # Errors
/// A quota is exceeded, or `limited` requires a quota that does not exist.
pub(super) fn check(
    quotas: &[Arc<Object>],
    limited: &[LimitedResource],
    evaluator: &Evaluator<'_>,
    a: &Attributes<'_>,
    object: &Object,
) -> Result<Vec<(usize, ResourceList)>, Box<Status>> {
    let requirements = limited.iter().flat_map(LimitedResource::scopes);
    let Some(scopes) = evaluator.matching_scopes(requirements, object) else { return Ok(Vec::new()) };
    let mut interested = matching_quotas(quotas, evaluator, object).map_err(|cause| a.forbidden(cause))?;
    if interested.is_empty() && limited.is_empty() {
        return Ok(Vec::new());
    }
    let usage = evaluator.usage(object);
    let negative = usage.iter().filter(|(_, quantity)| quantity.sign().is_lt());
    let negative: Vec<&str> = negative.map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        let cause = format!("quota usage is negative for resource(s): {}", negative.join(","));
        return Err(a.forbidden(&cause));
    }
    if !compute_deltas(&mut interested, quotas, &usage, evaluator, a) {
        return Ok(Vec::new());
    }
    if let Some(uncovered) = uncovered_resources(&interested, &usage, evaluator, limited, a) {
        return Err(a.forbidden(format!("insufficient quota to consume: {uncovered}")));
    }
    let covered: BTreeSet<&str> = quotas
        .iter()
        .flat_map(|quota| evaluator.matching_scopes(scope::requirements(quota), object).unwrap_or_default())
        .map(|requirement| requirement.scope)
        .collect();
    let open = scopes.iter().filter(|requirement| !covered.contains(requirement.scope));
    let open: Vec<String> = open.map(ToString::to_string).collect();
    if !open.is_empty() {
        // Upstream returns a plain error here, not a Forbidden.
        let cause = format!("insufficient quota to match these scopes: [{}]", open.join(" "));
        return Err(Status::unmapped(cause).into());
    }
    new_usage(interested, quotas, a)
}

/// Returns the quotas that apply to an object.
fn matching_quotas(
    quotas: &[Arc<Object>],
    evaluator: &Evaluator<'_>,
    object: &Object,
) -> Result<Vec<QuotaUsage>, RejectionReason> {
    let mut interested = Vec::new();
    for (index, quota) in quotas.iter().enumerate().filter(|(_, quota)| evaluator.matches(quota, object)) {
        let name = meta::text(quota, "name");
        let hard = status(quota, "hard");
        let used = status(quota, "used");
        let limited: Vec<&String> = hard.keys().filter(|name| evaluator.counts(name)).collect();
        evaluator
            .constraints(&limited, object)
            .map_err(|cause| RejectionReason(format!("failed quota: {name}: {cause}")))?;
        if limited.iter().any(|name| !used.contains_key(*name)) {
            let resources: Vec<&str> = limited.iter().map(|name| name.as_str()).collect();
            let resources = resources.join(",");
            return Err(RejectionReason(format!("status unknown for quota: {name}, resources: {resources}")));
        }
        interested.push(QuotaUsage { index, hard, used, delta: ResourceList::default() });
    }
    Ok(interested)
}

/// Computes the usage that a write adds to each quota. Returns false if it adds nothing.
fn compute_deltas(
    interested: &mut [QuotaUsage],
    quotas: &[Arc<Object>],
    usage: &ResourceList,
    evaluator: &Evaluator<'_>,
    a: &Attributes<'_>,
) -> bool {
    let old = a.old.filter(|_| a.operation == Operation::Update);
    let growth = old.map(|old| usage_delta(usage, &evaluator.usage(old)));
    let mut any = false;
    for one in interested.iter_mut() {
        let counted_before =
            old.zip(quotas.get(one.index)).is_some_and(|(old, quota)| evaluator.matches(quota, old));
        one.delta = growth.as_ref().filter(|_| counted_before).unwrap_or(usage).clone();
        one.delta.retain(|_, quantity| !quantity.is_zero());
        any |= !one.delta.is_empty();
    }
    match interested {
        [] => growth.as_ref().unwrap_or(usage).iter().any(|(_, quantity)| !quantity.is_zero()),
        _ => any,
    }
}

/// Returns the resources in use that require a quota and are covered by none.
fn uncovered_resources(
    interested: &[QuotaUsage],
    usage: &ResourceList,
    evaluator: &Evaluator<'_>,
    limited: &[LimitedResource],
    a: &Attributes<'_>,
) -> Option<String> {
    let applicable = limited.iter().filter(|limited| limited.applies_to(a.resource));
    let names: BTreeSet<&str> = applicable
        .flat_map(|limited| {
            let used = usage.iter().filter(|(_, quantity)| quantity.sign().is_gt());
            used.map(|(name, _)| name.as_str()).filter(|name| limited.names(name))
        })
        .collect();
    let is_covered =
        |name: &str| interested.iter().any(|one| one.hard.contains_key(name) && evaluator.counts(name));
    let uncovered: Vec<&str> = names.into_iter().filter(|name| !is_covered(name)).collect();
    (!uncovered.is_empty()).then(|| uncovered.join(","))
}

/// Computes the new usage, and checks increases against the limits.
fn new_usage(
    interested: Vec<QuotaUsage>,
    quotas: &[Arc<Object>],
    a: &Attributes<'_>,
) -> Result<Vec<(usize, ResourceList)>, Box<Status>> {
    let mut changed = Vec::new();
    for QuotaUsage { index, hard, mut used, mut delta } in interested {
        delta.retain(|name, _| hard.contains_key(name));
        if delta.is_empty() {
            continue;
        }
        let before = used.clone();
        used.add(&delta);
        let over = |name: &String| used.get(name) > hard.get(name);
        let exceeded: Vec<&String> = delta.keys().filter(|name| over(name)).collect();
        // A status write reports usage that already exists.
        if !exceeded.is_empty() && a.subresource() != "status" {
            let [requested, before, hard] = [&delta, &before, &hard].map(|list| pairs(list, &exceeded));
            let name = quotas.get(index).map_or("", |quota| meta::text(quota, "name"));
            return Err(a.forbidden(format!(
                "exceeded quota: {name}, requested: {requested}, used: {before}, limited: {hard}"
            )));
        }
        changed.push((index, used));
    }
    Ok(changed)
}

fn status(quota: &Object, name: &str) -> ResourceList {
    child(quota, "status").map(|status| ResourceList::of(status, name)).unwrap_or_default()
}

/// Returns the usage of `new` minus that of `old`.
fn usage_delta(new: &ResourceList, old: &ResourceList) -> ResourceList {
    let more = new.iter().map(|(name, quantity)| {
        let mut more = quantity.clone();
        if let Some(before) = old.get(name) {
            more.sub(before);
        }
        (name.clone(), more)
    });
    more.filter(|(_, more)| more.sign().is_gt()).collect()
}

/// Formats some entries of a list as `a=1,b=2`.
fn pairs(list: &ResourceList, names: &[&String]) -> String {
    let some = list.iter().filter(|(name, _)| names.contains(name));
    some.map(|(name, quantity)| format!("{name}={quantity}")).collect::<Vec<_>>().join(",")
}
