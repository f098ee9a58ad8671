//! IP families of a service, derived from its fields and from the families of the cluster (KEP-563;
//! upstream's `initIPFamilyFields` and `defaultOnReadService`).

use api::tree;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use kinds::validation::Spelling;
use kinds::validation::kinds::validate_cluster_ips;
use schema::object::Object;

use super::range::Family;
use kinds::strategy::service_fields::{has_cluster_ip, listed, push, same_texts};

/// IP families of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families {
    /// Default family of services.
    pub primary: Family,
    /// True if the cluster has both families.
    pub dual: bool,
}

impl Families {
    fn has(self, family: Family) -> bool {
        self.dual || family == self.primary
    }
}

fn is_selectorless(spec: &Object) -> bool {
    tree::text(spec, "clusterIP") == "None" && tree::child(spec, "selector").is_none_or(Object::is_empty)
}

fn policy(spec: &Object) -> &str {
    tree::text(spec, "ipFamilyPolicy")
}

fn set_policy(spec: &mut Object, policy: &str) {
    spec.insert("ipFamilyPolicy", policy.into());
}

fn count(spec: &Object, name: &str) -> usize {
    tree::list(spec, name).len()
}

fn add_other_family(spec: &mut Object) {
    let first = tree::texts(spec, "ipFamilies").next().and_then(Family::parse);
    if let Some(first) = first {
        push(spec, "ipFamilies", first.other().name());
    }
}

/// Fills in families for a service from before they existed, and removes those of an ExternalName service.
pub(super) fn default_on_read(service: &mut Object, cluster: Families) {
    let Some(spec) = tree::child_mut(service, "spec") else { return };
    let address = tree::text(spec, "clusterIP").to_owned();
    if !address.is_empty() && count(spec, "clusterIPs") == 0 {
        push(spec, "clusterIPs", &address);
    }
    if !has_cluster_ip(spec) {
        spec.remove("internalTrafficPolicy");
        return;
    }
    if count(spec, "ipFamilies") > 0 {
        return;
    }
    let families: Vec<Family> = match (address == "None", is_selectorless(spec)) {
        (true, true) => vec![cluster.primary, cluster.primary.other()],
        (true, false) => vec![cluster.primary],
        (false, _) => {
            let of = |text| Family::of_text(text).unwrap_or(Family::V4);
            tree::texts(spec, "clusterIPs").map(of).collect()
        }
    };
    match families.len() {
        0 => {}
        1 => set_policy(spec, "SingleStack"),
        _ => set_policy(spec, "RequireDualStack"),
    }
    for family in families {
        push(spec, "ipFamilies", family.name());
    }
}

/// Sets the families and the family policy of a service before it is created or, with `old`, updated.
///
/// # Errors
/// Contradictory fields, or families that the cluster does not have. The caller must then discard the
/// service.
pub(super) fn fill_in(
    service: &mut Object,
    old: Option<&Object>,
    cluster: Families,
    spelling: Spelling,
) -> Result<(), ErrorList> {
    let old_spec = old.and_then(|old| tree::child(old, "spec"));
    let Some(spec) = tree::child_mut(service, "spec") else { return Ok(()) };
    if !has_cluster_ip(spec) || old_spec.is_some_and(|old| keeps_prefer_dual_stack(spec, old)) {
        return Ok(());
    }
    choose_policy(spec, old_spec);
    fail_if_any(validate_cluster_ips(service, old, spelling))?;
    let Some(spec) = tree::child_mut(service, "spec") else { return Ok(()) };
    let mut errors = ErrorList::new();
    if let Some(old_spec) = old_spec {
        shrink(spec, old_spec, &mut errors);
    }
    too_many_for_policy(spec, &mut errors);
    infer_families(spec, cluster, &mut errors);
    fail_if_any(errors)?;
    if is_selectorless(spec) {
        if count(spec, "ipFamilies") == 0 {
            push(spec, "ipFamilies", cluster.primary.name());
        }
        if count(spec, "ipFamilies") < 2 && policy(spec) != "SingleStack" {
            add_other_family(spec);
        }
        return Ok(());
    }
    fail_if_any(not_configured(spec, cluster))?;
    if count(spec, "ipFamilies") == 0 {
        push(spec, "ipFamilies", cluster.primary.name());
    }
    if cluster.dual && policy(spec) != "SingleStack" && count(spec, "ipFamilies") == 1 {
        add_other_family(spec);
    }
    Ok(())
}

fn fail_if_any(errors: ErrorList) -> Result<(), ErrorList> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// True if a service with `PreferDualStack` repeats its current addresses. It is unchanged then, even if the
/// cluster has gained or lost a family since.
pub(super) fn keeps_prefer_dual_stack(spec: &Object, old: &Object) -> bool {
    let prefers = |policy: &str| policy == "PreferDualStack";
    tree::text(spec, "type") == tree::text(old, "type")
        && matches!(tree::text(spec, "type"), "ClusterIP" | "NodePort" | "LoadBalancer")
        && prefers(policy(spec))
        && (policy(old).is_empty() || prefers(policy(old)))
        && same_texts(spec, old, "clusterIPs")
        && same_texts(spec, old, "ipFamilies")
}

/// Sets the default policy. An existing service keeps its policy. A headless service without a selector gets
/// both families, any other service one.
fn choose_policy(spec: &mut Object, old_spec: Option<&Object>) {
    if tree::is_set(spec, "ipFamilyPolicy") {
        return;
    }
    match old_spec.map(policy).filter(|policy| !policy.is_empty()) {
        Some(policy) => set_policy(spec, policy),
        None if is_selectorless(spec) => set_policy(spec, "RequireDualStack"),
        None => set_policy(spec, "SingleStack"),
    }
}

fn policy_error(spec: &Object, detail: &str) -> Error {
    Error::invalid(&Path::root("spec.ipFamilyPolicy"), BadValue::json_text(policy(spec)), detail)
}

/// A change to a single family drops the second address and family, unless the client has changed them. Other
/// policy changes keep them.
fn shrink(spec: &mut Object, old_spec: &Object, errors: &mut ErrorList) {
    for (name, label) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        if policy(spec) != "SingleStack" {
            let now = count(spec, name);
            if now > 0 && now < count(old_spec, name) {
                let detail = format!("must be 'SingleStack' to release the secondary {label}");
                errors.push(policy_error(spec, &detail));
            }
        } else if same_texts(spec, old_spec, name)
            && let Some(Value::Array(list)) = spec.get_mut(name)
        {
            list.truncate(1);
        }
    }
}

fn too_many_for_policy(spec: &Object, errors: &mut ErrorList) {
    if policy(spec) != "SingleStack" {
        return;
    }
    for (name, label) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if count(spec, name) == 2 {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {label} are specified"
            );
            errors.push(policy_error(spec, &detail));
        }
    }
}

/// Derives the families from the addresses, which are valid.
fn infer_families(spec: &mut Object, cluster: Families, errors: &mut ErrorList) {
    let addresses: Vec<String> = tree::texts(spec, "clusterIPs").map(str::to_owned).collect();
    let addresses = addresses.iter().enumerate().take_while(|(_, address)| *address != "None");
    for (index, address) in addresses {
        let Some(family) = Family::of_text(address) else { continue };
        if index < count(spec, "ipFamilies") {
            continue;
        }
        if cluster.has(family) {
            push(spec, "ipFamilies", family.name());
        } else {
            let detail = format!("{} is not configured on this cluster", family.name());
            let path = Path::root("spec.clusterIPs");
            errors.push(Error::invalid(&path.index(index), listed(spec, "clusterIPs"), detail));
        }
    }
}

/// Errors for families that the cluster does not have.
fn not_configured(spec: &Object, cluster: Families) -> ErrorList {
    let mut errors = ErrorList::new();
    if policy(spec) == "RequireDualStack" && !cluster.dual {
        errors.push(policy_error(spec, "this cluster is not configured for dual-stack services"));
    }
    let path = Path::root("spec.ipFamilies");
    for (index, name) in tree::texts(spec, "ipFamilies").enumerate() {
        if !Family::parse(name).is_some_and(|family| cluster.has(family)) {
            let name = BadValue::json_text(name);
            errors.push(Error::invalid(&path.index(index), name, "not configured on this cluster"));
        }
    }
    errors
}
