//! Costs with and without cel-go's value stack are equal, at every possible end of an evaluation.

use jsontree::{Value as Json, json};

use super::*;
use crate::compile::compile;
use crate::env::Environment;
use crate::types::Type;

fn plan(expression: &str) -> Plan {
    let env = Environment::of_release(36).variable("object", Type::DYN);
    Plan::new(&compile(&env, expression).unwrap(), &["object"]).unwrap()
}

/// Returns the outcome and the cost under a limit.
fn answer<'a, T: Trace<'a>>(plan: &'a Plan, object: &'a Json, arena: &'a Arena, limit: u64) -> (String, u64) {
    let mut slots = vec![None; usize::from(plan.slots)];
    slots[0] = Some(Value::tree(object));
    let evaluation = run::<T>(plan, &mut slots, arena, limit, None);
    (format!("{:?}", evaluation.result().map(crate::value::text)), evaluation.cost)
}

#[test]
fn untraced_cost_equals_traced_cost() {
    let object = json!({
        "spec": {"replicas": 3, "names": ["web", "db", ""], "mixed": [1, "a", true, {"a": 1}, [2]]},
        "labels": {"app": "web", "tier": "front"},
    });
    for expression in [
        "object.spec.replicas <= 5",
        "object.spec.missing.deeper == 1 || object.spec.replicas > 2",
        "has(object.spec.replicas) && !has(object.status)",
        "object.spec.names.all(n, n.startsWith('w') || n == '' || n in ['db', 'x'])",
        "object.spec.names.exists(n, n.size() > 2 && n.matches('^w'))",
        "object.spec.mixed.all(m, m > 0)",
        "object.spec.mixed.exists(m, m.a == 1)",
        "object.spec.mixed.exists(m, m.matches('a') && m.missing.startsWith('b'))",
        "object.spec.mixed.exists_one(m, m == 1)",
        "object.spec.mixed.filter(m, m in [1, 2] ? m != 2 : false).map(m, [m, m]).size() == 1",
        "object.spec.names.map(n, n + '!').all(n, object.spec.names.exists(o, o + '!' == n))",
        "object.labels.all(k, object.labels[k].startsWith('w') || object.labels[?k].orValue('x') != 'y')",
        "object.spec.names.all(n, (n == 'web' ? object.labels : object.spec)[n == 'web' ? 'app' : 'replicas'] != n)",
        "object.spec.mixed.all(m, object.spec.names[m] != '' || object.?labels.optMap(x, x == x && m != 1).orValue(true))",
        "object.spec.mixed.all(m, m.replace('a', 'b', 1) == m)",
        "[1, 2, 3].all(i, i > 0) && [].all(i, i > 0) && !{}.exists(k, true)",
        "object.spec.names.all(i, n, i >= 0 && n != 'x') && object.labels.exists(k, v, k == 'tier' && v == 'front')",
        "object.spec.replicas.all(r, r)",
    ] {
        let plan = plan(expression);
        let arena = Arena::new();
        assert!(!plan.traced, "{expression}");
        let unlimited = answer::<NoTrace>(&plan, &object, &arena, PER_CALL_LIMIT);
        for limit in (0..=unlimited.1).chain([PER_CALL_LIMIT]) {
            assert_eq!(
                answer::<NoTrace>(&plan, &object, &arena, limit),
                answer::<ValueStack<'_>>(&plan, &object, &arena, limit),
                "{expression} within {limit}"
            );
        }
    }
}

#[test]
fn loops_with_skippable_arguments_are_traced() {
    for (expression, traced) in [
        ("object.a.replace('b', object.c, 1) == ''", false),
        ("object.a.map(x, [x, x.b, x.c])", false),
        ("object.a.filter(x, x.replace('b', x, 1) == '')", true),
        ("object.a.filter(x, [x, x.b, x.c] == [])", true),
        ("object.a.filter(x, [x, x.b].size() > 0)", false),
        ("object.a.filter(x, x.b[[x, x, x].size()])", true),
        ("object.a.all(x, x.replace('b', x, 1) == '')", false),
        ("object.a.exists_one(x, x.b.all(y, [y, x, x.c] == []))", false),
        ("object.a.exists_one(x, [x, x, x.c].all(y, y == 1))", true),
    ] {
        assert_eq!(plan(expression).traced, traced, "{expression}");
    }
}
