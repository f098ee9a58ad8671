//! Workloads and pod groups, which are scheduled together (KEP-4671), with the default feature gates of 1.36.
//! Upstream declares these rules in the types. On an update they do not apply to unchanged parts of the
//! object.

use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::{invalid_each, path_segment};
use api::name_rule::long_name;
use api::semantic::equal_members;
use api::tree::{child, children, integer, is_set, list, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPRESOURCECLAIM as CLAIM,
    IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPRESOURCECLAIMSTATUS as CLAIM_STATUS,
    IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPSPEC as GROUP_SPEC,
    IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPTEMPLATE as TEMPLATE,
    IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOADSPEC as WORKLOAD_SPEC,
};
use schema::json_write;
use schema::object::Object;
use schema::table::Message;
use std::collections::BTreeSet;

pub(crate) const WORKLOADS: Rules = Rules { create: workload, update: workload_update };
pub(crate) const GROUPS: Rules = Rules { create: group, update: group_update };

const TEMPLATES_MAX: usize = 8;
const CLAIMS_MAX: usize = 4;
/// Members of a pod group's spec, and of its templates, whose gates are off.
const GATED: [&str; 4] = ["schedulingConstraints", "disruptionMode", "priorityClassName", "priority"];

fn spec_of(object: &Object) -> Option<&Object> {
    child(object, "spec")
}

fn workload(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = spec_of(new).unwrap_or(&empty);
    if let Some(reference) = child(spec, "controllerRef") {
        controller(&path.child("controllerRef"), reference, &mut errors);
    }
    templates(&path.child("podGroupTemplates"), spec, &mut errors);
    errors
}

fn workload_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    unchanged(&WORKLOAD_SPEC, &["controllerRef", "podGroupTemplates"], new, old, &mut errors);
    errors
}

/// Reports changed members of a spec.
fn unchanged(
    message: &'static Message,
    members: &[&str],
    new: &Object,
    old: &Object,
    errors: &mut ErrorList,
) {
    let empty = Object::new();
    let [new, old] = [new, old].map(|object| spec_of(object).unwrap_or(&empty));
    let path = Path::root("spec");
    for member in members {
        let field = message.member(member);
        if field.is_some_and(|field| !equal_members(field, new.get(*member), old.get(*member))) {
            let value = BadValue::Plain("null".to_owned());
            errors.push(Error::invalid(&path.child(member), value, "field is immutable"));
        }
    }
}

fn controller(path: &Path<'_>, reference: &Object, errors: &mut ErrorList) {
    let group = text(reference, "apiGroup");
    if !group.is_empty() {
        invalid_each(&path.child("apiGroup"), group, long_name(group), errors);
    }
    for member in ["kind", "name"] {
        path_segment(&path.child(member), text(reference, member), true, errors);
    }
}

fn templates(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    match list(spec, "podGroupTemplates").len() {
        0 => errors.push(Error::required(path, "")),
        count if count > TEMPLATES_MAX => {
            errors.push(Error::too_many(path, Some(count), Some(TEMPLATES_MAX)));
        }
        _ => {
            unique_names(path, &TEMPLATE, list(spec, "podGroupTemplates"), errors);
            for (index, template) in children(spec, "podGroupTemplates").enumerate() {
                let path = path.index(index);
                short_name(&path.child("name"), text(template, "name"), errors);
                group_spec(&path, template, errors);
            }
        }
    }
}

/// Reports duplicate names. The errors show the items as JSON.
fn unique_names(path: &Path<'_>, message: &'static Message, items: &[Value], errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_object()?)))
    {
        if !seen.insert(text(item, "name")) {
            let mut json = Vec::new();
            let written = json_write::encode(message, item, &mut json).is_ok();
            let shown = if written { String::from_utf8_lossy(&json).into_owned() } else { String::new() };
            errors.push(Error::duplicate(&path.index(index), BadValue::Plain(shown)));
        }
    }
}

fn short_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    match name {
        "" => errors.push(Error::required(path, "")),
        name => invalid_each(path, name, names::is_dns1123_label(name), errors),
    }
}

/// Validates the fields that groups and group templates share.
fn group_spec(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let policy_path = path.child("schedulingPolicy");
    let policy = child(spec, "schedulingPolicy").unwrap_or(&empty);
    one_member(&policy_path, policy, &["basic", "gang"], errors);
    if let Some(gang) = child(policy, "gang") {
        let path = policy_path.child("gang");
        let path = path.child("minCount");
        match integer(gang, "minCount") {
            0 => errors.push(Error::required(&path, "")),
            count if count < 1 => {
                errors.push(Error::invalid(&path, count, "must be greater than or equal to 1"));
            }
            _ => {}
        }
    }
    claims(&path.child("resourceClaims"), spec, errors);
    for member in GATED.iter().filter(|member| is_set(spec, member)) {
        errors.push(Error::forbidden(&path.child(member), ""));
    }
}

/// Reports an error unless exactly one of these members is set.
fn one_member(path: &Path<'_>, owner: &Object, members: &[&str], errors: &mut ErrorList) {
    let set: Vec<&str> = members.iter().filter(|member| is_set(owner, member)).copied().collect();
    let all: Vec<String> = members.iter().map(|member| format!("`{member}`")).collect();
    let all = all.join(", ");
    match set.len() {
        1 => {}
        0 => errors.push(Error::invalid(path, "", format!("must specify one of: {all}"))),
        _ => {
            let value = format!("{{{}}}", set.join(", "));
            errors.push(Error::invalid(path, value, format!("must specify exactly one of: {all}")));
        }
    }
}

fn claims(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let count = list(spec, "resourceClaims").len();
    if count > CLAIMS_MAX {
        errors.push(Error::too_many(path, Some(count), Some(CLAIMS_MAX)));
        return;
    }
    unique_names(path, &CLAIM, list(spec, "resourceClaims"), errors);
    let sources = ["resourceClaimName", "resourceClaimTemplateName"];
    for (index, claim) in children(spec, "resourceClaims").enumerate() {
        let path = path.index(index);
        one_member(&path, claim, &sources, errors);
        short_name(&path.child("name"), text(claim, "name"), errors);
        for member in sources {
            if let Some(name) = maybe_text(claim, member) {
                invalid_each(&path.child(member), name, long_name(name), errors);
            }
        }
    }
}

fn group(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = spec_of(new).unwrap_or(&empty);
    if let Some(reference) = child(spec, "podGroupTemplateRef") {
        let path = path.child("podGroupTemplateRef");
        one_member(&path, reference, &["workload"], &mut errors);
        if let Some(workload) = child(reference, "workload") {
            let path = path.child("workload");
            match text(workload, "workloadName") {
                "" => errors.push(Error::required(&path.child("workloadName"), "")),
                name => invalid_each(&path.child("workloadName"), name, long_name(name), &mut errors),
            }
            let name = text(workload, "podGroupTemplateName");
            short_name(&path.child("podGroupTemplateName"), name, &mut errors);
        }
    }
    group_spec(&path, spec, &mut errors);
    errors
}

fn group_update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, &mut errors);
        return errors;
    }
    let members = ["podGroupTemplateRef", "schedulingPolicy", "resourceClaims"];
    unchanged(&GROUP_SPEC, &members, new, old, &mut errors);
    let empty = Object::new();
    let [new, old] = [new, old].map(|object| spec_of(object).unwrap_or(&empty));
    let path = Path::root("spec");
    for member in GATED.iter().filter(|member| is_set(new, member) && new.get(**member) != old.get(**member))
    {
        errors.push(Error::forbidden(&path.child(member), ""));
    }
    errors
}

fn status(group: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("status");
    let status = child(group, "status").unwrap_or(&empty);
    conditions(&path.child("conditions"), status, errors);
    let path = path.child("resourceClaimStatuses");
    let names: BTreeSet<&str> = spec_of(group)
        .into_iter()
        .flat_map(|spec| children(spec, "resourceClaims"))
        .map(|claim| text(claim, "name"))
        .collect();
    for (index, claim_status) in children(status, "resourceClaimStatuses").enumerate() {
        let name = text(claim_status, "name");
        if !names.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(Error::invalid(&path.index(index).child("name"), name, detail));
        }
    }
    let count = list(status, "resourceClaimStatuses").len();
    if count > CLAIMS_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(CLAIMS_MAX)));
        return;
    }
    unique_names(&path, &CLAIM_STATUS, list(status, "resourceClaimStatuses"), errors);
    for (index, claim_status) in children(status, "resourceClaimStatuses").enumerate() {
        if let Some(name) = maybe_text(claim_status, "resourceClaimName") {
            let path = path.index(index);
            invalid_each(&path.child("resourceClaimName"), name, long_name(name), errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn object(spec: Value, status: Value) -> Object {
        let meta = json!({"name": "g", "namespace": "ns", "resourceVersion": "1"});
        json!({"metadata": meta, "spec": spec, "status": status}).as_object().cloned().unwrap_or_default()
    }

    fn check(errors: &ErrorList, expected: &[&str]) {
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_group_has_one_policy() {
        let create = |spec: Value| group(&object(spec, json!({})));
        check(&create(json!({"schedulingPolicy": {"basic": {}}})), &[]);
        check(&create(json!({"schedulingPolicy": {"gang": {"minCount": 1}}})), &[]);
        check(
            &create(json!({"schedulingPolicy": {"gang": {"minCount": 0}}})),
            &["spec.schedulingPolicy.gang.minCount: Required value"],
        );
        check(
            &create(json!({})),
            &["spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"],
        );
        check(
            &create(json!({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 2}}, "priority": 1})),
            &[
                "spec.schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: `basic`, `gang`",
                "spec.priority: Forbidden",
            ],
        );
    }

    #[test]
    fn a_workload_has_templates() {
        let create = |spec: Value| workload(&object(spec, json!({})));
        let template = |name: &str| json!({"name": name, "schedulingPolicy": {"basic": {}}});
        check(&create(json!({"podGroupTemplates": [template("a")]})), &[]);
        check(&create(json!({})), &["spec.podGroupTemplates: Required value"]);
        let nine: Vec<Value> = (0..9).map(|index| template(&format!("t{index}"))).collect();
        check(
            &create(json!({"podGroupTemplates": nine})),
            &["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
        );
        let errors = create(json!({
            "controllerRef": {"kind": "a/b"}, "podGroupTemplates": [template("a"), template("a")],
        }));
        let fields: Vec<&str> = errors.iter().map(Error::field).collect();
        let expected = ["spec.controllerRef.kind", "spec.controllerRef.name", "spec.podGroupTemplates[1]"];
        assert_eq!(fields, expected);
    }

    #[test]
    fn specs_are_immutable_and_statuses_name_claims() {
        let gang = |count: i32| object(json!({"schedulingPolicy": {"gang": {"minCount": count}}}), json!({}));
        check(&group_update("", &gang(1), &gang(1)), &[]);
        check(
            &group_update("", &gang(2), &gang(1)),
            &["spec.schedulingPolicy: Invalid value: null: field is immutable"],
        );
        let status = object(json!({}), json!({"resourceClaimStatuses": [{"name": "c"}]}));
        check(
            &group_update("status", &status, &gang(1)),
            &[
                "status.resourceClaimStatuses[0].name: Invalid value: \"c\": must match the name of an entry in \
               `spec.resourceClaims`",
            ],
        );
    }
}
