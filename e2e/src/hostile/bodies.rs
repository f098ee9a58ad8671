//! Sends hostile bodies sequentially to a memory-limited server, and compares their cost with the model.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use rustix::process::{Pid, Resource as Bound, Rlimit, prlimit};
use tokio::time::{Instant, timeout};

use super::cases::{ATTACKS, Case, FORMS, Form, known, places};
use super::process::Process;
use super::random::Random;
use super::report::{Finding, Limits, Report, Violation};
use super::{
    ANSWER_BASE, ANSWER_FACTOR, MEMORY_BASE, PROCESS_BYTES_MAX, STATUS_BYTES_MAX, is_upstream_error,
};
use crate::Server;

/// Flags that enable every form of every kind.
const FLAGS: [&str; 2] = ["--feature-gates=CBORServingAndStorage=true", "--runtime-config=api/all=true"];
/// CPU time below which scaling is not checked.
const CPU_MILLIS_IGNORED: u64 = 1000;
/// Maximum ratio of CPU time for a body of twice the size. Quadratic cost takes four times.
const CPU_RATIO_MAX: u64 = 3;
/// Name of the object that patches target.
pub(super) const BASE: &str = "base";

/// Cost of one request.
#[derive(Debug, Default, Clone, Copy)]
struct Cost {
    body: u64,
    code: u16,
    response: u64,
    memory: u64,
    cpu_millis: u64,
    is_internal: bool,
}

/// A server that is replaced when it dies or retains too much memory.
struct Target {
    server: Server,
    client: Client,
    process: Process,
    bases: BTreeSet<String>,
}

/// Sends the known problematic bodies and a sample of all, filtered by `filter`. Returns the findings.
///
/// # Panics
/// The server does not start.
pub async fn run(
    limits: Limits,
    filter: impl Fn(&Case) -> bool,
    mut on_finding: impl FnMut(&Finding),
) -> Report {
    let start = Instant::now();
    let mut report = Report::default();
    let mut target = Target::start().await;
    for case in known().into_iter().chain(sample(limits.seed)).filter(filter) {
        if report.requests >= limits.requests || start.elapsed() > limits.time {
            break;
        }
        if case.form.patches() && !target.bases.contains(&collection(&case)) {
            continue;
        }
        report.requests += 1;
        let Err(what) = target.check_cost(&case, limits, &mut report).await else { continue };
        let finding = Finding { case: case.to_string(), what: what.0 };
        on_finding(&finding);
        report.findings.push(finding);
        target = Target::start().await;
    }
    report
}

/// All cases in an order that the seed determines.
pub(super) fn sample(seed: u64) -> impl Iterator<Item = Case> {
    let places = places();
    let variants = ATTACKS.len() * FORMS.len();
    let mut order: Vec<usize> = (0..places.len() * variants).collect();
    let mut random = Random(seed);
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let case = move |number: usize| {
        let (row, path) = places[number / variants].clone();
        let variant = number % variants;
        Case { row, path, attack: ATTACKS[variant / FORMS.len()], form: FORMS[variant % FORMS.len()] }
    };
    order.into_iter().map(case).filter(Case::exists)
}

/// Starts a memory-limited server that accepts every form of every kind.
///
/// # Panics
/// It does not start.
pub fn start_bounded() -> Server {
    let mut server = Server::start_flagged(&FLAGS);
    // Findings are in the report, so all log lines are allowed.
    server.allow_log("");
    bound_memory(&mut server);
    server
}

/// Limits the address space of the server's process to [`PROCESS_BYTES_MAX`].
///
/// # Panics
/// It does not run.
pub fn bound_memory(server: &mut Server) {
    let bound = Rlimit { current: Some(PROCESS_BYTES_MAX), maximum: Some(PROCESS_BYTES_MAX) };
    let id = Pid::from_raw(server.pid().cast_signed());
    prlimit(id, Bound::As, bound).expect("the process is ours");
}

/// Creates the objects that patches target, for all kinds that need only a name. Returns their collections.
pub async fn make_bases(client: &Client) -> BTreeSet<String> {
    let mut bases = BTreeSet::new();
    let mut rows = places();
    rows.dedup_by_key(|(row, _)| std::ptr::from_ref(*row));
    for (row, path) in rows {
        let case = Case { row, path, attack: ATTACKS[0], form: Form::Json };
        let path = collection(&case);
        // The annotation has an owner, which matters to apply.
        let body =
            format!("{{\"metadata\":{{\"name\":\"{BASE}\",\"annotations\":{{\"a\":\"b\"}}}}}}").into_bytes();
        let request = Request::post(&path).header("content-type", case.form.media_type());
        let response = client.send(request.body(Body::from(body)).expect("a request")).await;
        if response.is_ok_and(|response| response.status() == 201) {
            bases.insert(path);
        }
    }
    bases
}

/// Returns the collection path of the case's kind.
pub(super) fn collection(case: &Case) -> String {
    let root = if case.row.group.is_empty() { "api" } else { "apis" };
    let namespace = if case.row.namespaced { "namespaces/default/" } else { "" };
    format!("/{root}/{}/{namespace}{}", case.row.group_version, case.row.plural)
}

impl Target {
    async fn start() -> Self {
        let mut server = start_bounded();
        let pid = server.pid();
        let client = server.client().await;
        let bases = make_bases(&client).await;
        Target { server, client, process: Process(pid), bases }
    }

    /// Sends a body and compares its cost with the limits.
    async fn check_cost(
        &mut self,
        case: &Case,
        limits: Limits,
        report: &mut Report,
    ) -> Result<(), Violation> {
        let cost = self.cost(case, limits.bytes, limits.patience).await?;
        if cost.memory > report.memory_worst.0 {
            report.memory_worst = (cost.memory, case.to_string());
        }
        if cost.cpu_millis > report.cpu_worst.0 {
            report.cpu_worst = (cost.cpu_millis, case.to_string());
        }
        let Cost { body, code, response, memory, cpu_millis, is_internal } = cost;
        if is_internal || code == 504 {
            return Err(format!(
                "answered with {code}{}",
                if is_internal { " for an internal error" } else { "" }
            )
            .into());
        }
        if memory > body * limits.memory_factor + MEMORY_BASE {
            return Err(format!("{} MiB of memory for a body of {body} bytes", memory >> 20).into());
        }
        let allowed = if code >= 400 { STATUS_BYTES_MAX } else { ANSWER_FACTOR * body + ANSWER_BASE };
        if response > allowed {
            return Err(format!("{code} with an answer of {response} bytes to a body of {body} bytes").into());
        }
        if limits.cpu && cpu_millis > CPU_MILLIS_IGNORED {
            let half = self.cost(case, limits.bytes / 2, limits.patience).await?;
            let expected = half.cpu_millis * body / half.body.max(1);
            if cpu_millis * 2 > expected * CPU_RATIO_MAX {
                let half = half.cpu_millis;
                return Err(
                    format!("{cpu_millis} ms for a body of {body} bytes, {half} ms for half of it").into()
                );
            }
        }
        Ok(())
    }

    async fn cost(&mut self, case: &Case, bytes: usize, patience: Duration) -> Result<Cost, Violation> {
        let body = case.body(if case.form.patches() { BASE } else { "hostile" }, bytes);
        let dead = || "the server has ended".to_owned();
        let size = body.len() as u64;
        let memory = self.process.memory().ok_or_else(dead)?;
        self.process.forget_peak();
        let cpu = self.process.cpu_millis().ok_or_else(dead)?;
        let answered = timeout(patience, send(&self.client, case, body)).await;
        let peak = self.process.memory_peak();
        let now = self.process.cpu_millis();
        let running = self.server.is_running();
        let (true, Some(peak), Some(now)) = (running, peak, now) else {
            return Err(format!("the server ends after a body of {size} bytes").into());
        };
        let memory = peak.saturating_sub(memory);
        let cpu_millis = now.saturating_sub(cpu);
        let Ok(answered) = answered else {
            return Err(
                format!("no answer in {patience:?}, {} MiB, {cpu_millis} ms so far", memory >> 20).into()
            );
        };
        let (code, response, is_internal) = answered.map_err(|error| format!("no answer: {error}"))?;
        Ok(Cost { body: size, code, response, memory, cpu_millis, is_internal })
    }
}

/// Returns the status code, the response length, and true for an internal error.
pub(super) async fn send(client: &Client, case: &Case, body: Vec<u8>) -> Result<(u16, u64, bool), Violation> {
    let path = collection(case);
    let query = "dryRun=All&fieldManager=hostile";
    let (method, uri) = match case.form {
        Form::Apply => (Method::PATCH, format!("{path}/hostile?{query}&force=true")),
        Form::ApplyExisting => (Method::PATCH, format!("{path}/{BASE}?{query}&force=true")),
        form if form.patches() => (Method::PATCH, format!("{path}/{BASE}?{query}")),
        _ => (Method::POST, format!("{path}?{query}")),
    };
    let request = Request::builder().method(method).uri(uri).header("content-type", case.form.media_type());
    let request = request.body(Body::from(body)).map_err(Violation::of)?;
    let response = client.send(request).await.map_err(Violation::of)?;
    let code = response.status().as_u16();
    let mut body = response.into_body();
    let mut bytes = 0;
    let mut is_internal = false;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(Violation::of)?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        is_internal |= code == 500 && bytes == 0 && !is_upstream_error(&String::from_utf8_lossy(data));
        bytes += data.len() as u64;
    }
    Ok((code, bytes, is_internal))
}
