//! Tables of the report page: steps, request kinds, and test conditions.

use std::fmt::Write as _;

use super::super::kind::{Class, Kind};
use super::super::plan::Plan;
use super::super::step::{Step, Verdict};
use super::{Run, escape, short, verdict};

const MISSING: &str = "–";

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), short)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| MISSING.to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// Writes all steps of all servers.
pub(super) fn steps(html: &mut String, runs: &[Run]) {
    html.push_str("<h2>Every step</h2>\n<p class=\"soft\">Latencies are p99 in milliseconds; CPU is a share of one core.</p>\n<div class=\"scroll\"><table><tr>");
    for heading in [
        "server",
        "nodes",
        "pods",
        "watches",
        "requests/s",
        "events/s",
        "writes",
        "reads",
        "lists",
        "events",
        "CPU",
        "MiB",
        "store CPU",
        "client CPU",
        "sent late",
        "others",
    ] {
        let _ = write!(html, "<th>{heading}</th>");
    }
    html.push_str("<th class=\"left\">came to</th></tr>\n");
    for run in runs {
        for step in &run.steps {
            row(html, &run.server, step);
        }
    }
    html.push_str("</table></div>\n");
}

fn row(html: &mut String, server: &str, step: &Step) {
    let usage = &step.usage;
    let count = |count: u64| short(count as f64);
    let cells = [
        escape(server),
        count(step.nodes),
        count(step.pods),
        count(step.watches),
        short(step.rate),
        short(step.event_rate),
        number(step.p99(Class::Write)),
        number(step.p99(Class::Read)),
        number(step.p99(Class::List)),
        number(step.p99(Class::Event)),
        percent(usage.server_cpu),
        number(usage.server_mib.map(f64::round)),
        percent(usage.store_cpu),
        percent(Some(usage.client_cpu)),
        short(step.lag_ms),
        percent(usage.others_cpu),
    ];
    html.push_str("<tr>");
    for cell in cells {
        let _ = write!(html, "<td>{cell}</td>");
    }
    let class = match step.verdict {
        Verdict::Passed => "soft",
        Verdict::Broken(_) => "bad",
        Verdict::Invalid(_) => "maybe",
    };
    let _ = writeln!(html, "<td class=\"left why {class}\">{}</td></tr>", escape(&verdict(step)));
}

/// Writes the request kinds at the largest size within the SLOs of every server with results.
pub(super) fn kinds(html: &mut String, runs: &[Run]) {
    let measured: Vec<&Run> = runs.iter().filter(|run| run.largest_passed().is_some()).collect();
    let sizes = measured.iter().filter_map(|run| Some(run.largest_passed()?.nodes));
    let Some(size) = sizes.min() else { return };
    let of_size = |run: &&Run| run.steps.iter().find(|step| step.nodes == size).cloned();
    let steps: Vec<Step> = measured.iter().filter_map(of_size).collect();
    if steps.len() != measured.len() {
        return;
    }
    let _ = writeln!(
        html,
        "<h2>Kind by kind at {} nodes</h2>\n<p class=\"soft\">The largest size that all of them carried. p50 and p99 in milliseconds.</p>\n<div class=\"scroll\"><table><tr><th>request</th><th>per second</th>",
        short(size as f64)
    );
    for run in &measured {
        let name = escape(&run.server);
        let _ = write!(html, "<th>{name} p50</th><th>{name} p99</th>");
    }
    html.push_str("</tr>\n");
    for kind in Kind::ALL {
        let of = |step: &Step| step.kinds.iter().find(|metrics| metrics.of == kind).cloned();
        let rate = steps.first().and_then(of).map_or(0.0, |metrics| metrics.rate);
        let _ = write!(html, "<tr><td>{}</td><td>{}</td>", kind.name(), short(rate));
        for step in &steps {
            let latency = of(step).and_then(|metrics| metrics.latency_ms);
            let p50 = number(latency.map(|l| l.p50));
            let p99 = number(latency.map(|l| l.p99));
            let _ = write!(html, "<td>{p50}</td><td>{p99}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
}

/// Writes the options of the run, and the meaning of the results.
pub(super) fn conditions(html: &mut String, plan: &Plan, runs: &[Run]) {
    html.push_str("<h2>How to read it</h2>\n<dl>\n");
    let mut add = |term: &str, text: &str| {
        let _ = writeln!(html, "<dt>{term}</dt><dd>{}</dd>", escape(text));
    };
    let cores = runs.iter().flat_map(|run| &run.steps).find_map(|step| step.usage.server_cores);
    if let Some(cores) = cores {
        add(
            "Servers",
            &format!(
                "{} of the machine's cores, one server after the other, each with an empty store of its own",
                short(cores)
            ),
        );
    }
    add(
        "Nodes",
        &format!(
            "each with {} pods, a connection (at most {} in all, then shared), a kubelet that renews its lease every 10 s, reports its node's status once a minute and watches its pods, its node, Services, a ConfigMap and a Secret, and a kube-proxy that watches Services and EndpointSlices",
            plan.pods_per_node, plan.node_connections
        ),
    );
    add(
        "Pods",
        &format!(
            "{} a second and 1,000 nodes are replaced: create, bind, three events, read and status; delete, read and status, remove; the ReplicaSet's status",
            plan.churn
        ),
    );
    add(
        "Endpoints",
        &format!("{} slices of 30 endpoints a second, each to every kube-proxy", plan.endpoint_changes),
    );
    add(
        "Others",
        &format!(
            "{} operators that watch all custom resources; reads of nodes, pods and custom resources; users who list a namespace, all nodes, all pods in pages of 500",
            plan.operators
        ),
    );
    add(
        "Latency",
        "from the moment that a request was due, which nothing delays, to the end of its answer. What follows on something (binding on creating) is due when that is there. Errors and what has no answer 12 s after a step count with the time that they took.",
    );
    add(
        "Events",
        "from the moment that the write was due to its arrival at a watch, so they hold the write as well",
    );
    add(
        "A step",
        &format!(
            "{} s of load, then {} s that are measured. It is invalid if an SLO broke while the load generator was more than 250 ms late (p99), or it and the store used up their cores and the server did not.",
            plan.settle_seconds, plan.step_seconds
        ),
    );
    add("Others' CPU", "what else was busy on the server's cores: it takes from the server");
    add("Random", &format!("seed {}; the times and choices are the same for every server", plan.seed));
    html.push_str("</dl>\n");
}
