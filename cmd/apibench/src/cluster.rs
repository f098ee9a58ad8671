//! `apibench cluster`: simulates clusters of growing size against each server in turn, until an SLO is
//! violated.
//!
//! The servers run one after the other, each alone on the machine with its store and the load generator.
//! Simulated kubelets, kube-proxies, controllers, the scheduler, operators and users send their usual
//! requests. The send times depend on the seed only, and latency is measured from them.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

mod bodies;
mod kind;
mod mark;
pub(crate) mod plan;
mod pods;
mod protobuf;
mod random;
mod report;
mod seed;
mod step;
mod traffic;
mod usage;
mod watches;
mod window;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

pub(crate) use plan::Plan;
use step::{Step, Verdict};
use watches::Watches;
use world::SimulatedCluster;

use crate::args::Args;
use crate::error::{Error, Result};
use crate::start;
use crate::target::Target;

/// Result of one server.
#[derive(Debug, Clone, Serialize)]
struct Run {
    server: String,
    steps: Vec<Step>,
    /// Reason for stopping, if it is not the verdict of the last step.
    ended: Option<String>,
}

impl Run {
    /// Returns the largest cluster within the SLOs.
    fn largest_passed(&self) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.verdict == Verdict::Passed)
    }
}

/// Runs the plan against all servers and writes the report. Measurements before an error or Ctrl-C are
/// reported too.
pub(crate) async fn run(args: &Args, plan: &Plan, targets: &[Arc<Target>]) -> Result<()> {
    let is_server = |name: &str| targets.iter().any(|target| target.name == name);
    if let Some((name, _)) = plan.nodes_of.iter().find(|(name, _)| !is_server(name)) {
        return Err(Error::Usage(format!("--nodes-of: there is no server {name:?}")));
    }
    let mut runs = Vec::new();
    let mut outcome = Ok(());
    for target in targets {
        let mut run = Run { server: target.name.clone(), steps: Vec::new(), ended: None };
        let done = tokio::select! {
            done = one(args, plan, target, &mut run) => done,
            _ = tokio::signal::ctrl_c() => Err(Error::Wrong("interrupted".to_owned())),
        };
        if let Err(error) = &done {
            eprintln!("{}: {error}", target.name);
            run.ended = Some(error.to_string());
        }
        let interrupted = matches!(&done, Err(Error::Wrong(why)) if why == "interrupted");
        runs.push(run);
        outcome = outcome.and(done);
        if interrupted {
            break;
        }
    }
    print!("{}", report::summary(&runs));
    crate::write(&plan.report, &report::page(plan, &runs))?;
    if let Some(path) = &args.json {
        let document = serde_json::json!({ "tool": "apibench", "schema": 1, "plan": plan, "runs": runs });
        crate::write(path, &format!("{document:#}\n"))?;
    }
    outcome
}

/// Runs all steps of one server. Starts and stops the server if its command is known.
async fn one(args: &Args, plan: &Plan, target: &Arc<Target>, run: &mut Run) -> Result<()> {
    let Some(spec) = args.starts.iter().find(|start| start.name == target.name) else {
        return steps(plan, target, run).await;
    };
    let (server, _) = start::start(spec, target).await?;
    let target = Arc::new(target.with_pid(server.pid()));
    let done = steps(plan, &target, run).await;
    server.stop().await;
    done
}

async fn steps(plan: &Plan, target: &Arc<Target>, run: &mut Run) -> Result<()> {
    let limit = Instant::now() + Duration::from_secs(plan.time_limit);
    let world = Arc::new(SimulatedCluster::new(target, plan).await?);
    let mut watches = Watches::default();
    seed::begin(&world).await?;
    watches.open_control(&world).await?;
    for (number, nodes) in plan.sizes(&run.server).into_iter().enumerate() {
        let start = Instant::now();
        eprintln!("{}: {nodes} nodes, {} pods", run.server, nodes * plan.pods_per_node);
        let before = world.nodes().len();
        let remaining = limit.saturating_duration_since(start);
        let growth = async {
            seed::grow(&world, nodes).await?;
            let nodes = world.nodes();
            watches.open_nodes(&world, nodes.get(before..).unwrap_or_default()).await
        };
        match tokio::time::timeout(remaining, growth).await {
            Ok(result) => result?,
            Err(_) => return Err(Error::Wrong("no time left to make the cluster larger".to_owned())),
        }
        let seeded = start.elapsed().as_secs_f64();
        let step = step::run(&world, &run.server, number as u64, watches.count, seeded).await;
        eprint!("{}", report::line(&run.server, &step));
        let passed = step.verdict == Verdict::Passed;
        run.steps.push(step);
        if !passed {
            break;
        }
        if Instant::now() >= limit {
            run.ended = Some("the time limit".to_owned());
            break;
        }
    }
    Ok(())
}
