//! Command line: servers, workloads and their sizes.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::cluster::plan::Plan;

/// Runs the same workloads against several API servers and compares rate, latency, CPU and memory.
#[derive(Parser, Debug)]
#[command(version, about, after_help = "Run `apibench list` for the workloads, `all` runs every one.")]
pub(crate) struct Args {
    /// Subcommands other than workloads.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// name=NAME,url=https://HOST:PORT[,pid=PID][,store=PID][,token=TOKEN][,ca=FILE][,cert=FILE,key=FILE], or
    /// name=NAME,kubeconfig=FILE[,pid=PID]. Repeatable; ratios are relative to the first server.
    #[arg(long = "server", value_name = "SPEC", global = true)]
    pub(crate) servers: Vec<ServerSpec>,

    /// name=NAME,cmd=COMMAND (everything after cmd= is the command): start that server, measure its memory
    /// and the time until /readyz succeeds, use its process for CPU and memory, and stop it at the end.
    #[arg(long = "start", value_name = "SPEC", global = true)]
    pub(crate) starts: Vec<StartSpec>,

    /// Skip verification of server certificates.
    #[arg(long, global = true)]
    pub(crate) insecure: bool,

    /// Workload names, `all`, or `list`.
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,

    /// Write all measurements as one JSON document.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,

    /// Write a chart of the CPU ratios as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Delete the pods and config maps of the run at the end; its namespaces stay.
    #[arg(long)]
    pub(crate) cleanup: bool,

    /// Sizes of the workloads.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Subcommands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Simulate clusters of growing size until an SLO is violated; one server after the other.
    Cluster(Plan),
}

/// Sizes of the workloads; the same for every server. Part of the JSON output.
#[derive(clap::Args, Debug, Clone, Serialize)]
pub(crate) struct Settings {
    /// Pods stored in each server during the measurements.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(25..=1_000_000))]
    pub(crate) objects: u64,
    /// Size of a pod in KB as served, with the managed fields of five managers.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..=250))]
    pub(crate) pod_kb: u64,
    /// Duration of a timed part in seconds.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Requests in flight in single-object workloads and in list-concurrent.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) concurrency: u64,
    /// Requests in flight in the other list workloads.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) list_concurrency: u64,
    /// TCP connections of request workloads.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) connections: u64,
    /// Runs of each workload on each server.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) rounds: u64,
    /// Watchers or informers of the watch workloads.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) watchers: u64,
    /// Watches on one TCP connection.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=250))]
    pub(crate) streams: u64,
    /// Watches in watch-fanout on an object that never changes.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub(crate) idle_watchers: u64,
    /// Watches in watch-fanout that are opened and never read.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) slow_watchers: u64,
    /// Updates per second in watch-fanout.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) rate: u64,
    /// Duration of saturation in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) saturation_seconds: u64,
    /// Requests in flight in saturation.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) writers: u64,
    /// Greedy clients in fairness.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) greedy: u64,
    /// CRDs created concurrently in definitions.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) definitions: u64,
    /// Request timeout in seconds.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// Namespace of the pods; prefix of the other namespaces.
    #[arg(long, default_value = "apibench")]
    pub(crate) namespace: String,
}

/// Number of values of the pods' label `app`.
pub(crate) const APPS: u64 = 50;

impl Settings {
    /// Returns the number of nodes for the pods: about 25 pods per node.
    pub(crate) fn nodes(&self) -> u64 {
        (self.objects / 25).max(1)
    }

    /// Returns the number of pods on `node`.
    pub(crate) fn pods_on(&self, node: u64) -> u64 {
        members(self.objects, self.nodes(), node)
    }

    /// Returns the number of pods with the label of `app`.
    pub(crate) fn pods_of(&self, app: u64) -> u64 {
        members(self.objects, APPS, app)
    }
}

/// Returns the count of numbers in `0..total` that are congruent to `class` modulo `classes`.
fn members(total: u64, classes: u64, class: u64) -> u64 {
    total / classes + u64::from(total % classes > class)
}

/// Error of an option's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecError {
    #[error("{0:?} is not KEY=VALUE")]
    NoPair(String),
    #[error("unknown key {0:?}")]
    UnknownKey(String),
    #[error("{key} {value:?}: {source}")]
    ProcessId { key: &'static str, value: String, source: ParseIntError },
    #[error("name= is missing")]
    NoName,
    #[error("url= or kubeconfig= is missing")]
    NoUrl,
    #[error("cert= and key= go together")]
    CertWithoutKey,
    #[error("must begin with name=")]
    NameNotFirst,
    #[error(",cmd= is missing")]
    NoCommand,
    #[error("the name and the command must not be empty")]
    Empty,
}

/// A server from the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerSpec {
    /// Name in reports.
    pub(crate) name: String,
    /// `https://HOST[:PORT]`; by default from the kubeconfig.
    pub(crate) url: Option<String>,
    /// Process for CPU and memory measurements in `/proc`.
    pub(crate) pid: Option<u32>,
    /// Process of its etcd, for the CPU column of `cluster`.
    pub(crate) store_pid: Option<u32>,
    /// Bearer token.
    pub(crate) token: Option<String>,
    /// PEM file of the CAs for the server's certificate.
    pub(crate) ca: Option<PathBuf>,
    /// PEM file of the client certificate.
    pub(crate) cert: Option<PathBuf>,
    /// PEM file of the client key.
    pub(crate) key: Option<PathBuf>,
    /// Kubeconfig with defaults for the other keys.
    pub(crate) kubeconfig: Option<PathBuf>,
}

impl FromStr for ServerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(|| SpecError::NoPair(pair.to_owned()))?;
            let text = || Some(value.to_owned());
            let file = || Some(PathBuf::from(value));
            let process = |key| {
                value.parse::<u32>().map_err(|source| SpecError::ProcessId {
                    key,
                    value: value.to_owned(),
                    source,
                })
            };
            match key {
                "name" => spec.name = value.to_owned(),
                "url" => spec.url = text(),
                "pid" => spec.pid = Some(process("pid")?),
                "store" => spec.store_pid = Some(process("store")?),
                "token" => spec.token = text(),
                "ca" => spec.ca = file(),
                "cert" => spec.cert = file(),
                "key" => spec.key = file(),
                "kubeconfig" => spec.kubeconfig = file(),
                _ => return Err(SpecError::UnknownKey(key.to_owned())),
            }
        }
        if spec.name.is_empty() {
            return Err(SpecError::NoName);
        }
        if spec.url.is_none() && spec.kubeconfig.is_none() {
            return Err(SpecError::NoUrl);
        }
        if spec.cert.is_some() != spec.key.is_some() {
            return Err(SpecError::CertWithoutKey);
        }
        Ok(spec)
    }
}

/// A server to start, with the name of a `--server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartSpec {
    /// Name of a `--server`.
    pub(crate) name: String,
    /// Command line for `sh exec`, so that the child process is the server.
    pub(crate) command: String,
}

impl FromStr for StartSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let rest = text.strip_prefix("name=").ok_or(SpecError::NameNotFirst)?;
        let (name, command) = rest.split_once(",cmd=").ok_or(SpecError::NoCommand)?;
        if name.is_empty() || command.is_empty() {
            return Err(SpecError::Empty);
        }
        Ok(Self { name: name.to_owned(), command: command.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<ServerSpec, &str>) {
        let parsed = text.parse::<ServerSpec>().map_err(|error| error.to_string());
        assert_eq!(parsed, expected.map_err(str::to_owned));
    }

    #[test]
    fn server_specs_are_comma_separated_pairs() {
        let named = |name: &str| ServerSpec { name: name.into(), ..Default::default() };
        check(
            "name=a,url=https://h:1,pid=7,token=t=1",
            Ok(ServerSpec {
                url: Some("https://h:1".into()),
                pid: Some(7),
                token: Some("t=1".into()),
                ..named("a")
            }),
        );
        check("name=a,kubeconfig=k", Ok(ServerSpec { kubeconfig: Some("k".into()), ..named("a") }));
        check("url=https://h", Err("name= is missing"));
        check("name=a", Err("url= or kubeconfig= is missing"));
        check("name=a,url=u,cert=c", Err("cert= and key= go together"));
        check("name=a,port=1", Err("unknown key \"port\""));
        check("name", Err("\"name\" is not KEY=VALUE"));
    }

    #[test]
    fn start_specs_keep_commas_of_the_command() {
        let spec = "name=a,cmd=x --y=1,2 z".parse::<StartSpec>();
        assert_eq!(spec, Ok(StartSpec { name: "a".into(), command: "x --y=1,2 z".into() }));
        assert!("cmd=x".parse::<StartSpec>().is_err());
        assert!("name=a,cmd=".parse::<StartSpec>().is_err());
    }

    #[test]
    fn the_command_line_parses_with_flags_after_workloads() {
        let line = ["apibench", "--server", "name=a,url=https://h", "get", "all", "--seconds", "2"];
        let args = Args::try_parse_from(line).unwrap();
        assert_eq!(args.workloads, ["get", "all"]);
        assert_eq!((args.settings.seconds, args.settings.objects, args.servers.len()), (2, 5000, 1));
        assert!(Args::try_parse_from(["apibench", "--rounds", "0"]).is_err());
        let line = ["apibench", "cluster", "--nodes", "7", "--server", "name=a,url=https://h,store=5"];
        let args = Args::try_parse_from(line).unwrap();
        assert!(matches!(args.command, Some(Command::Cluster(plan)) if plan.nodes == 7));
        assert_eq!(args.servers[0].store_pid, Some(5));
    }

    #[test]
    fn class_sizes_sum_to_total() {
        for (total, classes) in [(5000, 200), (26, 7), (3, 50)] {
            let sum: u64 = (0..classes).map(|class| members(total, classes, class)).sum();
            assert_eq!(sum, total);
            let counted = (0..total).filter(|i| i % classes == 2).count();
            assert_eq!(members(total, classes, 2), u64::try_from(counted).unwrap());
        }
    }
}
