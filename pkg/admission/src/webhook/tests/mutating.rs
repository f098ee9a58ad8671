//! Tests of mutating webhooks.

use super::*;

fn plugin(world: &Arc<World>) -> Box<dyn Plugin> {
    Box::new(MutatingAdmissionWebhook::new(world.webhooks()))
}

fn admit(world: &Arc<World>) -> Result<(Value, AdmissionNotes), Box<Status>> {
    world.admit(&Write::default(), pod(), vec![plugin(world)])
}

fn add(path: &str, value: Value) -> Result<Value, ReviewCallError> {
    patch(json!([{"op": "add", "path": path, "value": value}]))
}

/// Returns the rejection message for one webhook with this response.
fn rejection_of(response: Result<Value, ReviewCallError>) -> String {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    world.set_responses("a", [response]);
    admit(&world).unwrap_err().message
}

#[test]
fn webhooks_see_earlier_changes() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({})), ("b", json!({}))]);
    world.set_responses("a", [add("/spec/subdomain", json!("s"))]);
    world.set_responses("b", [add("/spec/schedulerName", json!("n"))]);
    let (object, _) = admit(&world).unwrap();
    assert_eq!(object["spec"], json!({"hostname": "h", "subdomain": "s", "schedulerName": "n"}));
    assert_eq!(
        world.calls.lock().unwrap()[1].1["request"]["object"]["spec"],
        json!({"hostname": "h", "subdomain": "s"})
    );
}

#[test]
fn if_needed_webhooks_are_reinvoked_once() {
    let check = |policy: &str, expected: &[&str]| {
        let world = Arc::new(World::default());
        world.configure(&[("a", json!({"reinvocationPolicy": policy})), ("b", json!({}))]);
        world.set_responses("a", [allowed(json!({}))]);
        world.set_responses("b", [add("/spec/subdomain", json!("s"))]);
        admit(&world).unwrap();
        assert_eq!(world.called_urls(), expected, "{policy}");
    };
    check("IfNeeded", &["a", "b", "a"]);
    check("Never", &["a", "b"]);
}

#[test]
fn unchanged_object_causes_no_reinvocation() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({"reinvocationPolicy": "IfNeeded"})), ("b", json!({}))]);
    world.set_responses("a", [add("/spec/subdomain", json!("s"))]);
    world.set_responses("b", [add("/spec/subdomain", json!("s"))]);
    admit(&world).unwrap();
    assert_eq!(world.called_urls(), ["a", "b"]);
}

/// Plugin that changes the object once.
struct Late;

#[async_trait]
impl Plugin for Late {
    fn name(&self) -> &'static str {
        "Late"
    }

    fn handles(&self, _: &Attributes<'_>) -> bool {
        true
    }

    async fn mutate(
        &self,
        _: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> crate::Verdict {
        let spec = object.and_then(|object| object.get_mut("spec")).and_then(Value::as_object_mut);
        spec.unwrap().insert("setHostnameAsFQDN".to_owned(), true.into());
        Ok(())
    }
}

#[test]
fn change_by_plugin_triggers_reinvocation() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({"reinvocationPolicy": "IfNeeded"}))]);
    world.set_responses("a", [add("/spec/subdomain", json!("s"))]);
    world.admit(&Write::default(), pod(), vec![plugin(&world), Box::new(Late)]).unwrap();
    assert_eq!(world.called_urls(), ["a", "a"]);
}

#[test]
fn inapplicable_patch_rejects() {
    let open = "Internal error occurred: ";
    let failed = format!("{open}failed calling webhook \"a\": ");
    let test = patch(json!([{"op": "test", "path": "/spec/hostname", "value": 2}]));
    assert!(rejection_of(test).starts_with(open));
    let unknown = allowed(
        json!({"patchType": "Merge", "patch": STANDARD.encode("[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]")}),
    );
    assert_eq!(rejection_of(unknown), format!("{failed}unsupported patch type \"Merge\""));
    let garbage = allowed(json!({"patchType": "JSONPatch", "patch": STANDARD.encode("{")}));
    assert!(
        rejection_of(garbage)
            .starts_with(&format!("{failed}received undecodable patch in webhook response: "))
    );
    let untyped = allowed(json!({"patch": STANDARD.encode("[]")}));
    let why = "received invalid webhook response: webhook returned response.patch but not response.patchType";
    assert_eq!(rejection_of(untyped), format!("{failed}{why}"));
    assert_eq!(rejection_of(add("/spec/nodeName", json!(1))), format!("{open}nodeName is a number"));
}

#[test]
fn a_deletion_cannot_be_changed() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    world.set_responses("a", [add("/spec/subdomain", json!("s"))]);
    let write = Write::default().over(pod()).with_operation(crate::Operation::Delete);
    let refusal = write.deleted(&*plugin(&world), "p").unwrap_err();
    let why =
        "admission webhook \"a\" attempted to modify the object, which is not supported for this operation";
    assert_eq!(refusal, format!("Internal error occurred: {why}"));
}

#[test]
fn audit_contains_each_change() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({})), ("b", json!({}))]);
    world.set_responses("a", [add("/spec/subdomain", json!("s"))]);
    world.set_responses("b", [allowed(json!({}))]);
    let (_, notes) = admit(&world).unwrap();
    let annotations: Vec<(&str, &str)> =
        notes.annotations().iter().map(|annotation| (&*annotation.key, &*annotation.value)).collect();
    let patch = r#"{"configuration":"c","webhook":"a","patch":[{"op":"add","path":"/spec/subdomain","value":"s"}],"patchType":"JSONPatch"}"#;
    let expected = [
        ("patch.webhook.admission.k8s.io/round_0_index_0", patch),
        (
            "mutation.webhook.admission.k8s.io/round_0_index_0",
            r#"{"configuration":"c","webhook":"a","mutated":true}"#,
        ),
        (
            "mutation.webhook.admission.k8s.io/round_0_index_1",
            r#"{"configuration":"c","webhook":"b","mutated":false}"#,
        ),
    ];
    assert_eq!(annotations, expected);
}

#[test]
fn broken_managed_fields_are_restored() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    world.set_responses(
        "a",
        [add("/metadata/managedFields", json!([{"manager": "m", "fieldsType": "Nope"}]))],
    );
    let (object, notes) = admit(&world).unwrap();
    assert_eq!(object["metadata"].get("managedFields"), None);
    assert!(notes.warnings[0].starts_with(".metadata.managedFields was in an invalid state after admission"));
}

#[test]
fn object_is_encoded_once_per_version() {
    let world = Arc::new(World::default());
    let hooks: Vec<(&str, Value)> = vec![("a", json!({})), ("b", json!({})), ("c", json!({}))];
    world.configure(&hooks);
    for (name, _) in &hooks {
        world.set_responses(name, [allowed(json!({}))]);
    }
    admit(&world).unwrap();
    assert_eq!(world.called_urls(), ["a", "b", "c"]);
    assert_eq!(*world.encoded.lock().unwrap(), 1);
}

#[test]
fn ignored_bad_patches_are_weakened_decisions() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({"failurePolicy": "Ignore"}))]);
    world.set_responses("a", [allowed(json!({"patchType": "JSONPatch", "patch": STANDARD.encode("{")}))]);
    admit(&world).unwrap();
    let [(kind, name, cause)] = world.weakened().try_into().unwrap();
    assert_eq!((kind, &*name), (WeakenedKind::WebhookFailOpen, "a"));
    assert!(cause.starts_with("received undecodable patch in webhook response: "), "{cause}");
}
