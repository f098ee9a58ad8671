//! Commands that change objects.

use e2e::Server;

e2e::on_forks_and_etcd!(
    create_supports_every_generator,
    second_create_fails_with_already_exists,
    a_server_side_dry_run_changes_nothing,
    labels_and_annotations_can_be_changed,
    replace_puts_back_an_edited_object,
    a_stale_replace_is_a_conflict,
    apply_creates_and_then_changes,
    every_patch_type_is_accepted,
    scale_changes_only_replicas,
    a_new_image_changes_the_template,
    delete_removes_what_was_named,
    orphaning_delete_waits_for_garbage_collector,
    a_forced_delete_does_not_wait,
);

fn create_supports_every_generator(server: &Server) {
    let kubectl = server.kubectl();
    let check = |what: &str, expected: &str| {
        assert_eq!(kubectl.ok(&format!("create {what}")), format!("{expected} created\n"), "{what}");
        let namespaced = if expected.starts_with("namespace/") { "" } else { "-n a" };
        assert_eq!(kubectl.ok(&format!("get {expected} {namespaced} -o name")).trim_end(), expected);
    };
    check("namespace a", "namespace/a");
    check("configmap -n a c --from-literal=k=v", "configmap/c");
    check("secret generic -n a s --from-literal=p=q", "secret/s");
    check("serviceaccount -n a sa", "serviceaccount/sa");
    check("deployment -n a d --image=nginx", "deployment.apps/d");
    check("service clusterip -n a svc --tcp=80", "service/svc");
    check("job -n a j --image=nginx", "job.batch/j");
    check("cronjob -n a cj --image=nginx --schedule=@daily", "cronjob.batch/cj");
}

fn second_create_fails_with_already_exists(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c");
    let expected = "error: failed to create configmap: configmaps \"c\" already exists\n";
    assert_eq!(kubectl.fails("create configmap c"), expected);
}

fn a_server_side_dry_run_changes_nothing(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap there --from-literal=k=v");
    let created = kubectl.ok("create configmap c --from-literal=k=v --dry-run=server");
    assert_eq!(created, "configmap/c created (server dry run)\n");
    assert!(kubectl.fails("get configmap c").contains("NotFound"));
    kubectl.ok("label configmap there a=b --dry-run=server");
    kubectl.ok("delete configmap there --dry-run=server");
    assert_eq!(kubectl.ok("get configmap there -o jsonpath={.data.k}{.metadata.labels}"), "v");
}

fn labels_and_annotations_can_be_changed(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c");
    let check = |command: &str, output: &str, path: &str, expected: &str| {
        assert_eq!(kubectl.ok(command), output);
        assert_eq!(kubectl.ok(&format!("get configmap c -o jsonpath={{.metadata.{path}}}")), expected);
    };
    check("label configmap c a=b", "configmap/c labeled\n", "labels", r#"{"a":"b"}"#);
    assert!(kubectl.fails("label configmap c a=c").contains("--overwrite is false"));
    check("label configmap c a=c --overwrite", "configmap/c labeled\n", "labels.a", "c");
    check("label configmap c a-", "configmap/c unlabeled\n", "labels", "");
    check("annotate configmap c n=m", "configmap/c annotated\n", "annotations.n", "m");
    check("annotate configmap c n-", "configmap/c annotated\n", "annotations", "");
}

fn replace_puts_back_an_edited_object(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c --from-literal=k=before");
    let edited = kubectl.ok("get configmap c -o yaml").replace("k: before", "k: after");
    assert_eq!(kubectl.ok_with("replace -f -", &edited), "configmap/c replaced\n");
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "after");
}

fn a_stale_replace_is_a_conflict(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c --from-literal=k=v");
    let old = kubectl.ok("get configmap c -o yaml");
    kubectl.ok("label configmap c a=b");
    let done = kubectl.run("replace -f -", &old.replace("k: v", "k: w"));
    assert!(!done.status.success());
    assert!(done.stderr.contains("Error from server (Conflict)"), "{}", done.stderr);
    assert!(done.stderr.contains("the object has been modified"), "{}", done.stderr);
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "v");
}

fn apply_creates_and_then_changes(server: &Server) {
    let kubectl = server.kubectl();
    let object = |data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: default}}\ndata: {{{data}}}\n"
        )
    };
    assert_eq!(kubectl.ok_with("apply -f -", &object("k: v, l: w")), "configmap/c created\n");
    assert_eq!(kubectl.ok_with("apply -f -", &object("k: v, l: w")), "configmap/c unchanged\n");
    assert_eq!(kubectl.ok_with("apply -f -", &object("k: x")), "configmap/c configured\n");
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data}"), r#"{"k":"x"}"#);
}

fn every_patch_type_is_accepted(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c --from-literal=k=v");
    kubectl.ok("run p --image=nginx:1");
    let check = |patch: &str, path: &str, expected: &str| {
        kubectl.ok(&format!("patch {patch}"));
        assert_eq!(kubectl.ok(&format!("get {path}")), expected, "{patch}");
    };
    check(r#"configmap c --type=merge -p {"data":{"k":"m"}}"#, "configmap c -o jsonpath={.data.k}", "m");
    check(
        r#"configmap c --type=json -p [{"op":"replace","path":"/data/k","value":"j"}]"#,
        "configmap c -o jsonpath={.data.k}",
        "j",
    );
    // A strategic merge patch finds the container by its name.
    check(
        r#"pod p --type=strategic -p {"spec":{"containers":[{"name":"p","image":"nginx:2"}]}}"#,
        "pod p -o jsonpath={.spec.containers[*].name}:{.spec.containers[*].image}",
        "p:nginx:2",
    );
}

fn scale_changes_only_replicas(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create deployment d --image=nginx:1 --replicas=2");
    assert_eq!(kubectl.ok("scale deployment d --replicas=5"), "deployment.apps/d scaled\n");
    let path = "jsonpath={.spec.replicas}:{.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.ok(&format!("get deployment d -o {path}")), "5:nginx:1");
    let refused = kubectl.fails("scale deployment d --current-replicas=2 --replicas=3");
    assert!(refused.contains("Expected replicas to be 2, was 5"), "{refused}");
}

fn a_new_image_changes_the_template(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create deployment d --image=nginx:1");
    assert_eq!(kubectl.ok("set image deployment/d nginx=nginx:2"), "deployment.apps/d image updated\n");
    let path = "jsonpath={.metadata.generation}:{.spec.template.spec.containers[*].image}";
    assert_eq!(kubectl.ok(&format!("get deployment d -o {path}")), "2:nginx:2");
}

fn delete_removes_what_was_named(server: &Server) {
    let kubectl = server.kubectl();
    for name in ["a", "b", "c", "d"] {
        kubectl.ok(&format!("create configmap {name}"));
    }
    kubectl.ok("label configmap b c x=y");
    let check = |command: &str, expected: &str| {
        kubectl.ok(command);
        assert_eq!(kubectl.ok("get configmaps -o name"), expected, "{command}");
    };
    check("delete configmap a", "configmap/b\nconfigmap/c\nconfigmap/d\n");
    check("delete configmap -l x=y", "configmap/d\n");
    check("delete configmap a --ignore-not-found", "configmap/d\n");
    assert!(kubectl.fails("delete configmap a").contains("configmaps \"a\" not found"));
    check("delete configmap --all", "");
}

fn orphaning_delete_waits_for_garbage_collector(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create deployment d --image=nginx");
    kubectl.ok("delete deployment d --cascade=orphan --wait=false");
    let path = "jsonpath={.metadata.finalizers}";
    assert_eq!(kubectl.ok(&format!("get deployment d -o {path}")), r#"["orphan"]"#);
    assert_ne!(kubectl.ok("get deployment d -o jsonpath={.metadata.deletionTimestamp}"), "");
    // The garbage collector does this at its end.
    kubectl.ok(r#"patch deployment d --type=merge -p {"metadata":{"finalizers":null}}"#);
    assert!(kubectl.fails("get deployment d").contains("NotFound"));
}

fn a_forced_delete_does_not_wait(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("run p --image=nginx");
    kubectl.ok("delete pod p --grace-period=0 --force");
    assert!(kubectl.fails("get pod p").contains("NotFound"));
}
