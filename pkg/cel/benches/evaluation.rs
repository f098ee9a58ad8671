//! Benchmarks of evaluations over a stored Deployment, with their CEL cost.

#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use cel::admission::{Options, environment};
use cel::arena::Arena;
use cel::compile::compile;
use cel::env::Environment;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::plan::Plan;
use cel::types::Type;
use cel::value::{Stored, Value};
use divan::{Bencher, black_box};
use jsontree::{Value as Json, json};
use schema::builtin;
use schema::proto::encode;
use schema::proto::inplace::MessageRef;

fn main() {
    divan::main();
}

fn plan(expression: &str) -> Plan {
    let env = Environment::of_release(36).variable("object", Type::DYN);
    Plan::new(&compile(&env, expression).unwrap(), &["object"]).unwrap()
}

fn deployment() -> Json {
    let env: Vec<Json> =
        (0..30).map(|place| json!({"name": format!("NAME_{place}"), "value": "value"})).collect();
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}, "uid": "0b8e"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "web", "image": "web:1", "env": env}]}},
        },
        "status": {"observedGeneration": 1, "replicas": 3},
    })
}

fn run(bencher: Bencher<'_, '_>, expression: &str) {
    let plan = plan(expression);
    let object = deployment();
    let mut arena = Arena::new();
    bencher.bench_local(|| {
        arena.reset();
        let slots = [Some(Value::tree(black_box(&object)))];
        let evaluation = evaluate(&plan, &slots, &arena, PER_CALL_LIMIT, None);
        assert!(matches!(evaluation.outcome, Ok(Value::Bool(true))));
        evaluation.cost
    });
}

fn run_stored(bencher: Bencher<'_, '_>, expression: &str) {
    let plan = plan(expression);
    let message = builtin::kind("apps/v1", "Deployment").unwrap();
    let mut raw = Vec::new();
    encode(message, deployment().as_object().unwrap(), &mut raw).unwrap();
    let mut arena = Arena::new();
    bencher.bench_local(|| {
        arena.reset();
        let object = MessageRef::new(message, black_box(&raw));
        let stored = Stored::new(object, "apps/v1", "Deployment", &arena);
        let evaluation = evaluate(&plan, &[Some(stored.value())], &arena, PER_CALL_LIMIT, None);
        assert!(matches!(evaluation.outcome, Ok(Value::Bool(true))) && !stored.is_irregular());
        evaluation.cost
    });
}

const ALL_VARIABLES: &str = "object.spec.template.spec.containers.all(c, c.env.all(e, e.name.startsWith('NAME') \
                             && e.value != ''))";

/// Target: 100 ns.
#[divan::bench]
fn replicas_of_bytes(bencher: Bencher<'_, '_>) {
    run_stored(bencher, "object.spec.replicas <= 5");
}

/// Target: 4 µs.
#[divan::bench]
fn all_variables_of_bytes(bencher: Bencher<'_, '_>) {
    run_stored(bencher, ALL_VARIABLES);
}

/// Target: 15 µs.
#[divan::bench]
fn compile_policy(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        let env = environment(35, Options { params: true, authorizer: true, ..Options::default() }, None);
        compile(&env, black_box("object.spec.replicas <= params.max || has(object.metadata.labels.exempt)"))
            .unwrap()
    });
}

#[divan::bench]
fn replicas(bencher: Bencher<'_, '_>) {
    run(bencher, "object.spec.replicas <= 5");
}

/// Target: 4 µs.
#[divan::bench]
fn all_variables_of_all_containers(bencher: Bencher<'_, '_>) {
    run(bencher, ALL_VARIABLES);
}

/// Plans a checked expression.
#[divan::bench]
fn make_plan(bencher: Bencher<'_, '_>) {
    let env = Environment::of_release(36).variable("object", Type::DYN);
    let checked = compile(&env, "object.spec.replicas <= 5").unwrap();
    bencher.bench_local(|| Plan::new(&checked, &["object"]).unwrap());
}
