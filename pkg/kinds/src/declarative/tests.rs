//! Tests of the table and of each check.

use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use component_base::features::Gates;
use jsontree::{Value, json};
use schema::object::Object;
use schema::table::Type;

use super::rules::{Check, Condition, FieldRules, Rule};
use super::{table, validate};

fn object(value: &Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn errors_with(gates: &Gates, kind: &str, new: &Value, old: Option<&Value>) -> Vec<String> {
    let message = schema::builtin::message(&format!("io.k8s.api.{kind}")).expect("the type exists");
    let old = old.map(object);
    let errors = validate(message, &object(new), old.as_ref(), gates, ErrorList::new());
    errors.iter().map(Error::to_string).collect()
}

fn created(kind: &str, new: &Value) -> Vec<String> {
    errors_with(&Gates::default(), kind, new, None)
}

fn updated(kind: &str, new: &Value, old: &Value) -> Vec<String> {
    errors_with(&Gates::default(), kind, new, Some(old))
}

#[test]
fn types_and_fields_exist() {
    let mut missing = Vec::new();
    for rules in table::TYPES {
        let Some(message) = schema::builtin::message(rules.name) else {
            missing.push(rules.name.to_owned());
            continue;
        };
        for field in rules.fields {
            match (message.member(field.name).map(|member| member.ty), field.child) {
                (None, _) => missing.push(format!("{}.{}", rules.name, field.name)),
                (Some(Type::Message(message)), Some(child)) if message.name != child.name => {
                    missing.push(format!("{}.{}: {}", rules.name, field.name, child.name));
                }
                _ => {}
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "types or fields with rules that the schema lacks");
}

#[test]
fn types_are_sorted() {
    assert!(table::TYPES.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn options_are_gates() {
    let rules = table::TYPES.iter().flat_map(|rules| rules.fields).flat_map(|field| field.rules);
    let options = rules.filter_map(|rule| match rule.condition {
        Condition::Always => None,
        Condition::Enabled(option) | Condition::Disabled(option) => Some(option),
    });
    let unknown: Vec<&str> = options.filter(|option| Gate::find(option).is_none()).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn short_circuits_precede_other_checks() {
    let sorted = |rules: &[Rule]| rules.is_sorted_by_key(|rule| !rule.check.short_circuits());
    let fields = table::TYPES.iter().flat_map(|rules| rules.fields);
    let unsorted: Vec<&FieldRules> = fields.filter(|field| !sorted(field.rules)).collect();
    assert!(unsorted.is_empty(), "{unsorted:?}");
}

#[test]
fn required_field_is_missed() {
    let path = ["spec.policyName: Required value", "spec.validationActions: Required value"];
    let kind = "admissionregistration.v1.ValidatingAdmissionPolicyBinding";
    assert_eq!(created(kind, &json!({})), path);
    assert_eq!(created(kind, &json!({"spec": {"policyName": "", "validationActions": []}})), path);
}

#[test]
fn unchanged_value_is_not_validated_again() {
    let old = json!({"rules": [{"verbs": []}]});
    assert_eq!(updated("rbac.v1.Role", &old, &old), Vec::<String>::new());
    let new = json!({"rules": [{"verbs": []}, {"verbs": ["get"]}]});
    assert_eq!(updated("rbac.v1.Role", &new, &old), ["rules[0].verbs: Required value"]);
}

#[test]
fn immutable_field_may_not_change() {
    let class = |provisioner| json!({"provisioner": provisioner});
    let expected = ["provisioner: Invalid value: null: field is immutable"];
    assert_eq!(updated("storage.v1.StorageClass", &class("b"), &class("a")), expected);
    assert_eq!(updated("storage.v1.StorageClass", &class("a"), &class("a")), Vec::<String>::new());
    assert_eq!(created("storage.v1.StorageClass", &class("a")), Vec::<String>::new());
}

#[test]
fn alpha_rule_ends_validation_silently() {
    let binding = |name| json!({"roleRef": {"name": name}});
    assert_eq!(created("rbac.v1.RoleBinding", &binding("")), ["roleRef.name: Required value"]);
    assert_eq!(updated("rbac.v1.RoleBinding", &binding(""), &binding("a")), Vec::<String>::new());
}

#[test]
fn option_selects_the_bound() {
    let kind = "autoscaling.v2.HorizontalPodAutoscaler";
    let scaled = |replicas| json!({"spec": {"minReplicas": replicas, "maxReplicas": 1}});
    let gates = |enabled| Gates::default().with(Gate::HPAScaleToZero, enabled);
    let rejected = ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"];
    assert_eq!(errors_with(&gates(false), kind, &scaled(0), None), rejected);
    assert_eq!(errors_with(&gates(true), kind, &scaled(0), None), Vec::<String>::new());
    let changed = json!({"spec": {"minReplicas": 0, "maxReplicas": 2}});
    assert_eq!(errors_with(&gates(false), kind, &changed, Some(&scaled(0))), Vec::<String>::new());
    let rejected = ["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"];
    assert_eq!(errors_with(&gates(true), kind, &scaled(-1), None), rejected);
}

#[test]
fn disabled_beta_reports_nothing() {
    let gates = Gates::default().with(Gate::DeclarativeValidationBeta, false);
    assert_eq!(errors_with(&gates, "rbac.v1.Role", &json!({"rules": [{}]}), None), Vec::<String>::new());
}

#[test]
fn mode_selects_the_members() {
    let kind = "flowcontrol.v1.PriorityLevelConfiguration";
    let missing = ["spec.limited: Required value"];
    assert_eq!(created(kind, &json!({"spec": {"type": "Limited"}})), missing);
    let foreign =
        json!({"spec": {"type": "Exempt", "exempt": {}, "limited": {"limitResponse": {"type": "Reject"}}}});
    assert_eq!(created(kind, &foreign), ["spec.limited: Forbidden"]);
    let both = json!({"spec": {"type": "", "exempt": {}}});
    assert_eq!(created(kind, &both), ["spec.exempt: Forbidden", "spec.type: Required value"]);
}

#[test]
fn union_needs_one_member() {
    let kind = "resource.v1.ResourceSlice";
    let slice =
        |attribute: Value| json!({"spec": {"devices": [{"name": "d", "attributes": {"a": attribute}}]}});
    let members = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
    let errors = |attribute| -> Vec<String> {
        let mut errors = created(kind, &slice(attribute));
        errors.retain(|error| error.contains("attributes"));
        errors
    };
    let path = "spec.devices[0].attributes[a]: Invalid value";
    assert_eq!(errors(json!({})), [format!("{path}: \"\": must specify one of: {members}")]);
    let two = json!({"int": 1, "bool": false});
    assert_eq!(errors(two), [format!("{path}: \"{{int, bool}}\": must specify exactly one of: {members}")]);
    assert_eq!(errors(json!({"bool": false})), Vec::<String>::new());
}

#[test]
fn approved_excludes_denied() {
    let kind = "certificates.v1.CertificateSigningRequest";
    let request = |types: &[&str]| {
        let conditions: Vec<Value> = types.iter().map(|kind| json!({"type": kind})).collect();
        json!({"status": {"conditions": conditions}})
    };
    let names = r#"`conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`"#;
    let both = request(&["Approved", "Denied"]);
    let errors = created(kind, &both);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].ends_with(&format!("must specify at most one of: {names}")), "{errors:?}");
    assert_eq!(updated(kind, &request(&["Denied", "Approved"]), &both), Vec::<String>::new());
}

#[test]
fn duplicate_shows_the_item() {
    let kind = "resource.v1.ResourceClaim";
    let request = json!({"name": "a", "exactly": {"deviceClassName": "c"}});
    let claim = json!({"spec": {"devices": {"requests": [request, request]}}});
    let expected =
        r#"spec.devices.requests[1]: Duplicate value: {"name":"a","exactly":{"deviceClassName":"c"}}"#;
    assert_eq!(created(kind, &claim), [expected]);
}

#[test]
fn long_list_is_rejected_before_its_items() {
    let requests: Vec<Value> = (0..33).map(|index| json!({"name": format!("r{index}")})).collect();
    let claim = json!({"spec": {"devices": {"requests": requests}}});
    let expected = ["spec.devices.requests: Too many: 33: must have at most 32 items"];
    assert_eq!(created("resource.v1.ResourceClaim", &claim), expected);
}

#[test]
fn set_allocation_may_not_be_modified() {
    let claim = |driver: Option<&str>| {
        let results = driver.map(
            |driver| json!({"results": [{"driver": driver, "pool": "p", "request": "r", "device": "d"}]}),
        );
        json!({"status": {"allocation": results.map(|results| json!({"devices": results}))}})
    };
    let kind = "resource.v1.ResourceClaim";
    let rejected = ["status.allocation: Invalid value: null: field cannot be modified once set"];
    assert_eq!(updated(kind, &claim(Some("b")), &claim(Some("a"))), rejected);
    assert_eq!(updated(kind, &claim(Some("a")), &claim(None)), Vec::<String>::new());
    assert_eq!(updated(kind, &claim(None), &claim(Some("a"))), Vec::<String>::new());
}

#[test]
fn name_is_a_subfield() {
    let class = json!({"metadata": {"name": "A"}, "spec": {}});
    let errors = created("resource.v1.DeviceClass", &class);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("metadata.name: Invalid value: \"A\": a lowercase RFC 1123"), "{errors:?}");
    assert_eq!(updated("resource.v1.DeviceClass", &class, &class), Vec::<String>::new());
}

#[test]
fn keys_of_maps_have_no_own_path() {
    let set = json!({"name": "s", "counters": {"A": {"value": "1"}}});
    let slice = json!({"spec": {"sharedCounters": [set]}});
    let errors = created("resource.v1.ResourceSlice", &slice);
    assert!(
        errors
            .iter()
            .any(|error| error
                .starts_with("spec.sharedCounters[0].counters: Invalid value: \"A\": a lowercase")),
        "{errors:?}"
    );
}

#[test]
fn enumeration_names_its_values() {
    let slice = json!({"addressType": "IPv5"});
    let expected = r#"addressType: Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6""#;
    assert_eq!(created("discovery.v1.EndpointSlice", &slice), [expected]);
}

#[test]
fn every_check_is_used() {
    let mut names: Vec<String> = Vec::new();
    for rules in table::TYPES {
        let checks = rules.checks.iter().chain(rules.fields.iter().flat_map(|field| field.rules));
        names.extend(checks.map(|rule| check_name(&rule.check)));
    }
    names.sort();
    names.dedup();
    let expected = [
        "AtMostOneItem",
        "Custom",
        "DependentForbidden",
        "DependentRequired",
        "EachItem",
        "EachKey",
        "Enum",
        "Forbidden",
        "Format",
        "Immutable",
        "MaxBytes",
        "MaxItems",
        "MaxLength",
        "Maximum",
        "Minimum",
        "Mode",
        "Monotonic",
        "Optional",
        "Required",
        "Subfield",
        "Union",
        "Unique",
        "Update",
    ];
    assert_eq!(names, expected);
}

fn check_name(check: &Check) -> String {
    let text = format!("{check:?}");
    text.split('(').next().unwrap_or_default().to_owned()
}

#[test]
fn path_of_the_root_is_empty() {
    assert_eq!(Path::NIL.child("spec").to_string(), "spec");
}
