//! Benchmark of the memory of a compiled policy: the bytes allocated by clones of its plans. Target: 10 KB.

#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use cel::admission::{Options, environment};
use cel::compile::compile;
use cel::plan::Plan;
use divan::{AllocProfiler, Bencher};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A match condition, a validation and a message expression.
const POLICY: [&str; 3] = [
    "request.resource.group != 'coordination.k8s.io' && !('system:nodes' in request.userInfo.groups)",
    "object.spec.template.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) \
     || c.securityContext.privileged == false)",
    "'containers of ' + object.metadata.name + ' must not be privileged, see ' + params.data.url",
];

/// The column `alloc` shows the bytes: a clone, like the plan itself, has no spare capacity.
#[divan::bench]
fn policy_of_three_expressions(bencher: Bencher<'_, '_>) {
    let env = environment(35, Options { params: true, authorizer: true, ..Options::default() }, None);
    let names = ["object", "oldObject", "request", "params", "namespaceObject", "authorizer"];
    let plans: Vec<Plan> =
        POLICY.iter().map(|text| Plan::new(&compile(&env, text).unwrap(), &names).unwrap()).collect();
    bencher.bench_local(|| plans.clone());
}
