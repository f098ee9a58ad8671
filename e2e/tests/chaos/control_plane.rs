//! The rest of a control plane, if `CHAOS_CONTROLLER_MANAGER` and `CHAOS_SCHEDULER` are paths of upstream's
//! programs. Both run against the balancer, with simulated nodes and Deployments as work. In the end every
//! Deployment must have its replicas.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::random::Random;
use super::world::World;
use super::{kubelets, work};

/// Pause before a program is restarted, which exits when it loses its lease.
const AGAIN: Duration = Duration::from_secs(1);
/// Timeout for the final state.
const SETTLED_MAX: Duration = Duration::from_secs(300);

pub(super) struct ControlPlane {
    client: kube::Client,
    work: JoinSet<()>,
    stop: Arc<AtomicBool>,
    /// Aborted when dropped, which kills the programs.
    _tasks: JoinSet<()>,
}

impl ControlPlane {
    /// Starts the programs, if they are configured.
    pub(super) async fn start(world: &World, random: Random) -> Option<Self> {
        let program = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let controllers = program("CHAOS_CONTROLLER_MANAGER")?;
        let scheduler = program("CHAOS_SCHEDULER")?;
        let client = world.client();
        let mut tasks = JoinSet::new();
        let mut work = JoinSet::new();
        let namespace: Namespace =
            serde_json::from_value(json!({"metadata": {"name": work::NAMESPACE}})).unwrap();
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let kubeconfig = world.kubeconfig();
        for (name, program) in [("controller-manager", controllers), ("scheduler", scheduler)] {
            tasks.spawn(keep_running(program, kubeconfig.clone(), world.path(&format!("{name}.log"))));
        }
        tasks.spawn(kubelets::run(client.clone()));
        let stop = Arc::new(AtomicBool::new(false));
        work.spawn(work::run(client.clone(), stop.clone(), random));
        Some(ControlPlane { client, work, stop, _tasks: tasks })
    }

    /// Stops the work, and waits until the requested state is reached.
    pub(super) async fn settle(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        while self.work.join_next().await.transpose().unwrap().is_some() {}
        let mut wrong = vec!["nobody looked yet".to_owned()];
        let settled = async {
            while !wrong.is_empty() {
                sleep(AGAIN).await;
                wrong = work::unsettled(&self.client).await;
            }
        };
        let in_time = timeout(SETTLED_MAX, settled).await.is_ok();
        assert!(in_time, "controllers do not get there: {wrong:#?}");
        println!("every Deployment has the pods that it asks for");
    }
}

/// Runs an upstream program, and restarts it whenever it exits.
async fn keep_running(program: PathBuf, kubeconfig: PathBuf, log: PathBuf) {
    loop {
        let ended = once(&program, &kubeconfig, &log).await;
        println!("{} ended: {ended}", program.display());
        sleep(AGAIN).await;
    }
}

async fn once(program: &Path, kubeconfig: &Path, log: &Path) -> String {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = Command::new(program);
    command
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["--leader-elect=true", "--bind-address=127.0.0.1", "--v=1"])
        .arg(format!("--secure-port={}", e2e::tools::free_port()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true);
    match command.spawn().unwrap().wait().await {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}
