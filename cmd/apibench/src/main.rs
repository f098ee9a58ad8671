//! apibench runs the same workloads against several API servers and reports the rate, latency, CPU and memory
//! of each. It depends on the Kubernetes API only, not on other code of this repository, so it measures every
//! server alike.

mod args;
mod bodies;
mod check;
mod client;
mod cluster;
mod custom;
mod error;
mod kubeconfig;
mod process;
mod realistic;
mod report;
mod run;
mod setup;
mod start;
mod stats;
mod target;
#[cfg(test)]
mod testing;
mod tls;
mod workload;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;

use args::{Args, Command};
use error::{Error, Result};
use report::Results;
use start::{Server, Started};
use target::Target;

/// A slow client would measure itself: the system allocator took a sixth of the load generator's time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.workloads.iter().any(|name| name == "list") {
        for workload in workload::all().iter().filter(|workload| !workload::is_large(workload.name())) {
            println!("{:<22} {}", workload.name(), workload.about());
        }
        println!("{:<22} {}", workload::LARGE, workload::LARGE_ABOUT);
        return ExitCode::SUCCESS;
    }
    let finished = tokio::runtime::Runtime::new()
        .map_err(Error::io("runtime"))
        .and_then(|runtime| runtime.block_on(bench(&args)));
    match finished {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("apibench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts the configured servers, runs the workloads, reports the results even of an interrupted run, and
/// stops the servers.
async fn bench(args: &Args) -> Result<()> {
    if let Some(Command::Cluster(plan)) = &args.command {
        return match resolve(args)? {
            none if none.is_empty() => Err(Error::Usage("nothing to do: give --server".to_owned())),
            targets => cluster::run(args, plan, &targets).await,
        };
    }
    let workloads = workload::chosen(&args.workloads)?;
    if args.servers.is_empty() || (workloads.is_empty() && args.starts.is_empty()) {
        return Err(Error::Usage("nothing to do: give --server and a workload; see --help".to_owned()));
    }
    let mut targets = resolve(args)?;
    let mut running = Vec::new();
    let mut started = Vec::new();
    let mut results = Results::default();
    let settings = Arc::new(args.settings.clone());
    let outcome = tokio::select! {
        outcome = async {
            start_all(args, &mut targets, &mut running, &mut started).await?;
            let targets: Vec<_> = targets.iter().map(Arc::clone).collect();
            if !workloads.is_empty() {
                run::run(&targets, &settings, &workloads, &mut results).await?;
            }
            if args.cleanup {
                for target in &targets {
                    setup::cleanup(target, &settings).await?;
                }
            }
            Ok(())
        } => outcome,
        _ = tokio::signal::ctrl_c() => Err(Error::Wrong("interrupted; this is what there is".to_owned())),
    };
    let reported = report(args, &targets, &started, &results, outcome.is_ok());
    for server in running {
        server.stop().await;
    }
    outcome.and(reported)
}

fn resolve(args: &Args) -> Result<Vec<Arc<Target>>> {
    let names: Vec<_> = args.servers.iter().map(|spec| spec.name.as_str()).collect();
    if let Some(twice) =
        names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|n| n == *name))
    {
        return Err(Error::Usage(format!("two servers are named {:?}", twice.1)));
    }
    if let Some(start) = args.starts.iter().find(|start| !names.contains(&start.name.as_str())) {
        return Err(Error::Usage(format!("--start {:?} is the name of no --server", start.name)));
    }
    args.servers.iter().map(|spec| Target::resolve(spec, args.insecure).map(Arc::new)).collect()
}

async fn start_all(
    args: &Args,
    targets: &mut [Arc<Target>],
    running: &mut Vec<Server>,
    started: &mut Vec<Started>,
) -> Result<()> {
    for spec in &args.starts {
        let Some(target) = targets.iter_mut().find(|target| target.name == spec.name) else { continue };
        let (server, measured) = start::start(spec, target).await?;
        eprintln!("{}: ready after {:.0} ms", spec.name, measured.ready_ms);
        *target = Arc::new(target.with_pid(server.pid()));
        running.push(server);
        started.push(measured);
    }
    Ok(())
}

fn report(
    args: &Args,
    targets: &[Arc<Target>],
    started: &[Started],
    results: &Results,
    complete: bool,
) -> Result<()> {
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    if !started.is_empty() {
        println!("{}", report::startup_table(started));
    }
    if !results.is_empty() {
        print!("{}", report::table(results, &names));
    }
    if let Some(path) = &args.json {
        let all = targets.iter().map(AsRef::as_ref);
        let document = report::document(results, &args.settings, all, started, complete);
        write(path, &format!("{document:#}\n"))?;
    }
    if let Some(path) = &args.plot {
        match report::plot(results, &names) {
            Some(svg) => write(path, &svg)?,
            None => eprintln!("no chart: it compares the CPU of two servers, and needs pid= for both"),
        }
    }
    Ok(())
}

fn write(path: &Path, content: &str) -> Result<()> {
    std::fs::write(path, content).map_err(Error::io(path.display().to_string()))
}
