//! Workloads and pod groups, which are scheduled together (KEP-4671): the rules that upstream does not declare
//! in the types.

use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::go_value::go_values;
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::{child, children, is_set, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_SCHEDULING_V1BETA1_COMPOSITEPODGROUPTEMPLATE as COMPOSITE_TEMPLATE;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) const WORKLOADS: Rules = Rules { create: workload, update: workload_update };
pub(crate) const GROUPS: Rules = Rules { create: group, update: group_update };
pub(crate) const COMPOSITE_GROUPS: Rules = Rules { create: composite_group, update: composite_group_update };

/// Levels of templates below a workload.
const TEMPLATE_DEPTH_MAX: usize = 4;

const GROUP_TEMPLATES: &str = "podGroupTemplates";
const COMPOSITE_TEMPLATES: &str = "compositePodGroupTemplates";

fn workload(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    workload_spec(new, &mut errors);
    errors
}

fn workload_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    workload_spec(new, &mut errors);
    errors
}

fn workload_spec(workload: &Object, errors: &mut ErrorList) {
    let Some(spec) = child(workload, "spec") else { return };
    let path = Path::root("spec");
    let mut names = children(spec, GROUP_TEMPLATES).map(|template| text(template, "name")).collect();
    composite_names(&path, spec, &mut names, errors);
    for (index, template) in children(spec, COMPOSITE_TEMPLATES).enumerate() {
        if depth(template, TEMPLATE_DEPTH_MAX) >= TEMPLATE_DEPTH_MAX {
            let detail = format!("maximum template hierarchy depth is {TEMPLATE_DEPTH_MAX}");
            let value = go_values(&COMPOSITE_TEMPLATE, template.get(COMPOSITE_TEMPLATES));
            errors.push(Error::invalid(&path.child(COMPOSITE_TEMPLATES).index(index), value, detail));
        }
    }
    one_priority(&path, spec, errors);
    with_children(&path, spec, errors);
}

/// Reports names that templates of two lists share.
fn composite_names<'o>(
    path: &Path<'_>,
    owner: &'o Object,
    names: &mut BTreeSet<&'o str>,
    errors: &mut ErrorList,
) {
    add_names(path, owner, COMPOSITE_TEMPLATES, names, errors);
    let path = path.child(COMPOSITE_TEMPLATES);
    for (index, template) in children(owner, COMPOSITE_TEMPLATES).enumerate() {
        let path = path.index(index);
        add_names(&path, template, GROUP_TEMPLATES, names, errors);
        composite_names(&path, template, names, errors);
    }
}

/// Adds the names of a list. Duplicates within the list are reported by the declared rules.
fn add_names<'o>(
    path: &Path<'_>,
    owner: &'o Object,
    member: &'static str,
    names: &mut BTreeSet<&'o str>,
    errors: &mut ErrorList,
) {
    let path = path.child(member);
    let mut own = Vec::new();
    for (index, template) in children(owner, member).enumerate() {
        let name = text(template, "name");
        if names.contains(name) {
            errors.push(Error::duplicate(&path.index(index).child("name"), name));
        }
        own.push(name);
    }
    names.extend(own);
}

/// Returns the levels of composite templates, with the given one. Deeper ones than `max` are not counted.
fn depth(template: &Object, max: usize) -> usize {
    match max {
        0 => 0,
        _ => {
            1 + children(template, COMPOSITE_TEMPLATES).map(|child| depth(child, max - 1)).max().unwrap_or(0)
        }
    }
}

#[derive(PartialEq)]
struct Priority<'o> {
    class: &'o str,
    value: Option<i64>,
}

/// Reports an error unless all templates have one priority.
fn one_priority(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut groups = children(spec, GROUP_TEMPLATES).map(priority);
    let first = groups.next();
    let mut details = Vec::new();
    if groups.any(|other| Some(other) != first) {
        details.push("detected multiple priority configurations");
    } else {
        let mut nested = Vec::new();
        nested_priorities(spec, &mut nested);
        let first = first.as_ref().or(nested.first());
        if nested.iter().any(|other| Some(other) != first) {
            details.push(
                "all priority and priorityClassName values must be identical, detected multiple values",
            );
        }
    }
    for detail in details {
        errors.push(Error::invalid(path, BadValue::Plain("null".to_owned()), detail));
    }
}

fn priority(template: &Object) -> Priority<'_> {
    Priority { class: text(template, "priorityClassName"), value: maybe_integer(template, "priority") }
}

fn nested_priorities<'o>(owner: &'o Object, found: &mut Vec<Priority<'o>>) {
    for template in children(owner, COMPOSITE_TEMPLATES) {
        found.push(priority(template));
        nested_priorities(template, found);
        found.extend(children(template, GROUP_TEMPLATES).map(priority));
    }
}

/// Reports composite templates without templates.
fn with_children(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    let path = path.child(COMPOSITE_TEMPLATES);
    for (index, template) in children(owner, COMPOSITE_TEMPLATES).enumerate() {
        let path = path.index(index);
        let lists = [GROUP_TEMPLATES, COMPOSITE_TEMPLATES];
        if lists.iter().all(|list| children(template, list).next().is_none()) {
            let detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate";
            errors.push(Error::invalid(&path, text(template, "name"), detail));
        }
        with_children(&path, template, errors);
    }
}

fn group(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    if let Some(spec) = child(new, "spec")
        && is_set(spec, "parentCompositePodGroupName")
        && !is_set(spec, "workloadRef")
    {
        let detail = "must be set when parentCompositePodGroupName is set";
        errors.push(Error::required(&Path::root("spec").child("workloadRef"), detail));
    }
    errors
}

fn group_update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, &mut errors);
    }
    errors
}

fn status(group: &Object, errors: &mut ErrorList) {
    let Some(status) = child(group, "status") else { return };
    let path = Path::root("status");
    conditions(&path.child("conditions"), status, errors);
    let path = path.child("resourceClaimStatuses");
    let claims = child(group, "spec").into_iter().flat_map(|spec| children(spec, "resourceClaims"));
    let names: BTreeSet<&str> = claims.map(|claim| text(claim, "name")).collect();
    for (index, claim_status) in children(status, "resourceClaimStatuses").enumerate() {
        let name = text(claim_status, "name");
        if !names.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(Error::invalid(&path.index(index).child("name"), name, detail));
        }
    }
}

fn composite_group(new: &Object) -> ErrorList {
    metadata(new, true, NameRule::DnsSubdomain)
}

fn composite_group_update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if let Some(status) = child(new, "status").filter(|_| subresource == "status") {
        conditions(&Path::root("status.conditions"), status, &mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(spec: Value, status: Value) -> Object {
        let meta = json!({"name": "g", "namespace": "ns", "resourceVersion": "1"});
        json!({"metadata": meta, "spec": spec, "status": status}).as_object().cloned().unwrap_or_default()
    }

    fn check(errors: &ErrorList, expected: &[&str]) {
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn child_group_needs_workload() {
        let create = |spec: Value| group(&object(spec, json!({})));
        check(
            &create(json!({"parentCompositePodGroupName": "p", "workloadRef": {"workloadName": "w"}})),
            &[],
        );
        check(
            &create(json!({"parentCompositePodGroupName": "p"})),
            &["spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set"],
        );
    }

    #[test]
    fn templates_share_names_and_priority() {
        let create = |spec: Value| workload(&object(spec, json!({})));
        let nested = |name: &str| json!({"name": "c", "podGroupTemplates": [{"name": name}]});
        let spec = |name: &str| json!({"podGroupTemplates": [{"name": "a"}], "compositePodGroupTemplates": [nested(name)]});
        check(&create(spec("b")), &[]);
        check(
            &create(spec("a")),
            &["spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: \"a\""],
        );
        let priorities = json!([{"name": "a", "priority": 1}, {"name": "b", "priority": 2}]);
        check(
            &create(json!({ "podGroupTemplates": (priorities) })),
            &["spec: Invalid value: null: detected multiple priority configurations"],
        );
        check(
            &create(json!({"compositePodGroupTemplates": [{"name": "c"}]})),
            &["spec.compositePodGroupTemplates[0]: Invalid value: \"c\": must have at least one child \
               PodGroupTemplate or CompositePodGroupTemplate"],
        );
    }

    #[test]
    fn statuses_name_claims() {
        let old = object(json!({}), json!({}));
        let status = object(json!({}), json!({"resourceClaimStatuses": [{"name": "c"}]}));
        check(
            &group_update("status", &status, &old),
            &[
                "status.resourceClaimStatuses[0].name: Invalid value: \"c\": must match the name of an entry in \
               `spec.resourceClaims`",
            ],
        );
    }
}
