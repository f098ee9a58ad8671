//! Tests of capacities, taint rules, and the drivers' status of allocated devices. The texts are upstream's.

use super::*;
use jsontree::{Value, json};

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn texts(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

fn check_policy_of(policy: Value, is_fractional: bool, expected: &[&str]) {
    let mut errors = ErrorList::new();
    let capacity = json!("10Gi");
    capacity::request_policy(&Path::root("p"), Some(&capacity), &object(policy), is_fractional, &mut errors);
    assert_eq!(texts(&errors), expected);
}

fn check_policy(policy: Value, expected: &[&str]) {
    check_policy_of(policy, false, expected);
}

#[test]
fn fractions_need_their_gate() {
    let values = json!({"validValues": ["500m", "700m"], "default": "500m"});
    check_policy_of(values.clone(), true, &[]);
    check_policy(values, &["p.validValues[1]: Duplicate value: \"1\""]);
    let repeated = json!({"validValues": ["500m", "500m"], "default": "500m"});
    check_policy_of(repeated, true, &["p.validValues[1]: Duplicate value: \"0.500\""]);
    let range = |step: &str, default: &str| {
        let range = json!({"min": "500m", "max": "2", "step": step});
        json!({ "validRange": range, "default": default })
    };
    let multiple = "p.validRange.step: Invalid value: \"900m\": value is not a multiple of a given step (500m) from \
                    (500m)";
    check_policy_of(range("500m", "1"), true, &[]);
    check_policy_of(range("500m", "900m"), true, &[multiple]);
    check_policy(range("500m", "900m"), &[]);
    check_policy_of(
        range("500m", "900u"),
        true,
        &[
            "p.validRange.default: Invalid value: \"900u\": default is less than min: 500m",
            "p.validRange.default: Invalid value: \"900u\": value cannot be represented as a milli value",
        ],
    );
}

#[test]
fn valid_values_are_sorted_and_available() {
    check_policy(json!({"default": "20Gi"}), &[]);
    check_policy(json!({"validValues": ["1Gi", "2Gi"], "default": "1Gi"}), &[]);
    check_policy(
        json!({"validValues": ["2Gi", "1Gi", "1Gi", "20Gi"], "default": "3Gi"}),
        &[
            "p.validValues[1]: Invalid value: \"1Gi\": values must be sorted in ascending order",
            "p.validValues[3]: Invalid value: \"20Gi\": option is larger than capacity value: 10Gi",
            "p.validValues[2]: Duplicate value: \"1073741824\"",
            "p.validValues: Invalid value: \"3Gi\": default value is not valid according to the requestPolicy",
        ],
    );
    let many: Vec<String> = (0..11).map(|number| number.to_string()).collect();
    check_policy(
        json!({"validValues": many, "default": "0"}),
        &[
            "p.validValues: Too many: 11: must have at most 10 items",
            "p.validValues: Invalid value: \"0\": default value is not valid according to the requestPolicy",
        ],
    );
    check_policy(
        json!({"validValues": ["1"]}),
        &["p.default: Required value: required when validValues is defined"],
    );
    check_policy(
        json!({"validValues": ["1"], "validRange": {}}),
        &["p: Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and \
           \"validRange\" at the same time"],
    );
}

#[test]
fn ranges_to_request_have_steps() {
    let range = |range: Value, default: &str| json!({"validRange": range, "default": default});
    check_policy(range(json!({"min": "1Gi", "max": "3Gi", "step": "1Gi"}), "2Gi"), &[]);
    check_policy(
        range(json!({}), "1Gi"),
        &["p.validRange.min: Required value: required when validRange is defined"],
    );
    check_policy(
        range(json!({"min": "3Gi", "max": "2Gi", "step": "9Gi"}), "1Gi"),
        &[
            "p.validRange.default: Invalid value: \"1Gi\": default is less than min: 3Gi",
            "p.validRange.max: Invalid value: \"3Gi\": min is larger than max: 2Gi",
            "p.validRange.step: Invalid value: \"9Gi\": one step 12Gi is larger than capacity value: 10Gi",
            "p.validRange.step: Invalid value: \"1Gi\": value is not a multiple of a given step (9Gi) from (3Gi)",
            "p.validRange.step: Invalid value: \"2Gi\": value is not a multiple of a given step (9Gi) from (3Gi)",
        ],
    );
    check_policy(
        range(json!({"min": "1Gi", "step": "0"}), "1Gi"),
        &["p.validRange.step: Invalid value: \"0\": must be greater than zero"],
    );
}

#[test]
fn taint_rules_need_devices_and_a_taint() {
    let rule = |spec: Value| object(json!({"metadata": {"name": "r", "resourceVersion": "1"}, "spec": spec}));
    let check = |new: Value, old: Option<Value>, expected: &[&str]| {
        let errors = match old {
            None => (TAINT_RULES.create)(&rule(new)),
            Some(old) => (TAINT_RULES.update)("", &rule(new), &rule(old)),
        };
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    check(json!({"taint": {"key": "a", "effect": "NoExecute"}}), None, &[]);
    let bad = json!({
        "taint": {"key": "a", "value": "a b", "effect": "x"},
        "deviceSelector": {"driver": "", "pool": "A", "device": "B_"},
    });
    let selector = ["spec.deviceSelector.driver", "spec.deviceSelector.pool", "spec.deviceSelector.device"];
    let all = [selector[0], selector[1], selector[2], "spec.taint.value", "spec.taint.effect"];
    check(bad.clone(), None, &all);
    check(bad.clone(), Some(bad), &[selector[0], selector[1], selector[2], "spec.taint.value"]);
}

fn check_devices(status: Value, expected: &[&str]) {
    let claim = |status: Value| {
        let requests = json!([{"name": "r", "exactly": {"deviceClassName": "a"}}]);
        let meta = json!({"name": "c", "namespace": "n", "resourceVersion": "1"});
        object(json!({"metadata": meta, "spec": {"devices": {"requests": requests}}, "status": status}))
    };
    let errors = claim_update("status", &claim(status), &claim(json!({})), &ValidationContext::default());
    assert_eq!(texts(&errors), expected);
}

#[test]
fn device_status_needs_an_allocation() {
    let device = json!({"driver": "d.x", "pool": "p", "device": "e"});
    let result = json!({"request": "r", "driver": "d.x", "pool": "p", "device": "e"});
    let allocation = json!({"devices": {"results": [result]}});
    check_devices(json!({"allocation": allocation, "devices": [device]}), &[]);
    let shown = "{\"Driver\":\"d.x\",\"Pool\":\"p\",\"Device\":\"e\",\"ShareID\":\"\"}";
    let absent = |index: usize| {
        format!("status.devices[{index}]: Invalid value: {shown}: must be an allocated device in the claim")
    };
    check_devices(
        json!({"devices": [device, device]}),
        &[&absent(0), &absent(1), &format!("status.devices[1]: Duplicate value: {shown}")],
    );
    let mut updated = device.clone();
    updated["shareID"] = "nope".into();
    updated["networkData"] = json!({
        "ips": ["1.2.3.4", "1.2.3.4/8", "1.2.3.4/8", "::1/200", "01.2.3.4/8", "::ffff:1.2.3.4/128"],
        "interfaceName": "i".repeat(257), "hardwareAddress": "h".repeat(128),
    });
    updated["data"] = "[1]".into();
    let errors = {
        let mut errors = ErrorList::new();
        let status = object(json!({"devices": [updated]}));
        status::devices::devices(&Path::root("d"), &status, &mut errors);
        errors
    };
    let address = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
    let ips = "d[0].networkData.ips";
    let expected = [
        "d[0].shareID: Invalid value: \"nope\": error validating uid: invalid UUID length: 4".to_owned(),
        "d[0]: Invalid value: {\"Driver\":\"d.x\",\"Pool\":\"p\",\"Device\":\"e\",\"ShareID\":\"nope\"}: must be \
         an allocated device in the claim"
            .to_owned(),
        "d[0].data: Invalid value: \"<value omitted>\": must be a valid JSON object".to_owned(),
        "d[0].networkData.interfaceName: Too long: may not be more than 256 bytes".to_owned(),
        format!("{ips}[0]: Invalid value: \"1.2.3.4\": {address}"),
        format!("{ips}[3]: Invalid value: \"::1/200\": {address}"),
        format!("{ips}[4]: Invalid value: \"01.2.3.4/8\": must be in canonical form (\"1.2.3.4/8\")"),
        format!("{ips}[5]: Invalid value: \"::ffff:1.2.3.4/128\": must be in canonical form (\"1.2.3.4/32\")"),
        format!("{ips}[2]: Duplicate value: \"1.2.3.4/8\""),
    ];
    assert_eq!(texts(&errors), expected);
}
