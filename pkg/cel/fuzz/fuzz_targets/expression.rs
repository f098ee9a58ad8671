//! Fuzz target: any text as a policy expression is parsed, checked, estimated, planned and run within a
//! budget, without panics.
#![no_main]

use cel::admission::{Options, environment};
use cel::arena::Arena;
use cel::compile::compile;
use cel::estimate::{NoSizes, estimate};
use cel::eval::evaluate;
use cel::plan::Plan;
use libfuzzer_sys::fuzz_target;

/// Cost limit of a run: a thousandth of the limit of policies.
const LIMIT: u64 = 10_000;

fuzz_target!(|text: &str| {
    let options = Options { params: true, authorizer: true, patches: true };
    let env = environment(36, options, None);
    let Ok(checked) = compile(&env, text) else { return };
    let _ = estimate(&checked, &mut NoSizes);
    let _ = Plan::validate(&checked);
    let names = ["object", "oldObject", "namespaceObject", "request", "params", "authorizer"];
    let Ok(plan) = Plan::new(&checked, &names) else { return };
    let arena = Arena::default();
    let _ = evaluate(&plan, &[None; 6], &arena, LIMIT, None).result();
});
