//! Reports of a run: progress lines, a summary, and one self-contained HTML page.

mod plot;
mod tables;

use std::fmt::Write as _;

use self::plot::{Plot, Point};
use super::Run;
use super::kind::Class;
use super::plan::Plan;
use super::step::{Step, Verdict};

const STYLE: &str = include_str!("report/page.css");

/// Formats a step in one line.
pub(super) fn line(server: &str, step: &Step) -> String {
    let p99 = |class| step.p99(class).map_or_else(|| "-".to_owned(), |ms| format!("{} ms", short(ms)));
    let share = |cpu: Option<f64>| cpu.map_or_else(|| "-".to_owned(), |cpu| format!("{:.0} %", cpu * 100.0));
    let mut line = format!(
        "{server}, {} nodes: {:.0} requests/s, {:.0} events/s; p99 writes {}, reads {}, lists {}, events {}; CPU {}, {} MiB; store {}, client {}, late {} ms: {}\n",
        step.nodes,
        step.rate,
        step.event_rate,
        p99(Class::Write),
        p99(Class::Read),
        p99(Class::List),
        p99(Class::Event),
        share(step.usage.server_cpu),
        step.usage.server_mib.map_or_else(|| "-".to_owned(), |mib| format!("{mib:.0}")),
        share(step.usage.store_cpu),
        share(Some(step.usage.client_cpu)),
        short(step.lag_ms),
        verdict(step),
    );
    if let Some(error) = &step.first_error {
        let _ = writeln!(line, "  {} errors, the first: {error}", step.errors);
    }
    line
}

/// Formats the verdict of a step.
fn verdict(step: &Step) -> String {
    match &step.verdict {
        Verdict::Passed => "within the SLOs".to_owned(),
        Verdict::Broken(why) => format!("SLO broken: {why}"),
        Verdict::Invalid(why) => format!("invalid: {why}"),
    }
}

/// Formats the result in a few lines.
pub(super) fn summary(runs: &[Run]) -> String {
    let mut text = String::new();
    let first = runs.first().and_then(|run| Some(run.largest_passed()?.nodes));
    for (at, run) in runs.iter().enumerate() {
        let nodes = run.largest_passed().map_or(0, |step| step.nodes);
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, "{}: {} nodes within the SLOs", run.server, short(nodes as f64));
        if let Some(first) = first.filter(|first| at > 0 && *first > 0) {
            let _ = write!(text, ", {:.2} of the first", nodes as f64 / first as f64);
        }
        let _ = writeln!(text, "; {}", end(run));
    }
    text
}

/// Returns the reason why there is no larger cluster.
fn end(run: &Run) -> String {
    match (&run.ended, run.steps.last()) {
        (Some(why), _) => format!("ended: {why}"),
        (None, Some(step)) if step.verdict == Verdict::Passed => "the largest that was tried".to_owned(),
        (None, Some(step)) => format!("at {}: {}", short(step.nodes as f64), verdict(step)),
        (None, None) => "nothing was measured".to_owned(),
    }
}

/// Returns the HTML page.
pub(super) fn page(plan: &Plan, runs: &[Run]) -> String {
    let mut html = String::with_capacity(1 << 17);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Nodes within the SLOs</title>\n<style>\n{STYLE}</style></head><body>\n"
    );
    html.push_str("<h1>How large a cluster each server carries</h1>\n<p class=\"soft\">A simulated cluster grows step by step until an SLO breaks: p99 of 1 s for writes, single reads and events, 30 s for lists. The largest size within all of them counts.</p>\n");
    cards(&mut html, runs);
    html.push_str("<h2>Load, latency, CPU and memory</h2>\n<p class=\"soft\">Over the number of nodes, which is logarithmic. A hollow point is the step that broke. Point at one for its value.</p>\n");
    legend(&mut html, runs);
    plots(&mut html, runs);
    tables::steps(&mut html, runs);
    tables::kinds(&mut html, runs);
    tables::conditions(&mut html, plan, runs);
    html.push_str("</body></html>\n");
    html
}

fn cards(html: &mut String, runs: &[Run]) {
    let nodes = |run: &Run| run.largest_passed().map_or(0, |step| step.nodes);
    let most = runs.iter().map(nodes).max().unwrap_or(0).max(1) as f64;
    html.push_str("<div class=\"cards\">\n");
    for (at, run) in runs.iter().enumerate() {
        let carried = nodes(run);
        let name = escape(&run.server);
        let _ = write!(
            html,
            "<div class=\"card c{}\"><h3>{name}</h3><div class=\"big\">{} <small>nodes</small></div><div class=\"bar\" style=\"width:{:.1}%\"></div>",
            at % 4,
            short(carried as f64),
            carried as f64 / most * 100.0
        );
        if let Some(step) = run.largest_passed() {
            let _ = write!(
                html,
                "<p>{} pods, {} watches, {} requests and {} events a second</p>",
                short(step.pods as f64),
                short(step.watches as f64),
                short(step.rate),
                short(step.event_rate)
            );
            let cpu = step.usage.server_cpu.map(|cpu| format!("{:.0} % of a core", cpu * 100.0));
            let memory = step.usage.server_mib.map(|mib| format!("{} MiB", short(mib)));
            let used: Vec<String> = cpu.into_iter().chain(memory).collect();
            if !used.is_empty() {
                let _ = write!(html, "<p>{}</p>", used.join(", "));
            }
        }
        for smaller in runs.iter().filter(|smaller| nodes(smaller) > 0 && nodes(smaller) < carried) {
            let times = carried as f64 / nodes(smaller) as f64;
            let _ = write!(html, "<p><strong>{times:.1} ×</strong> {}</p>", escape(&smaller.server));
        }
        let class = match run.steps.last().map(|step| &step.verdict) {
            Some(Verdict::Broken(_)) => "bad",
            Some(Verdict::Invalid(_)) => "maybe",
            _ => "soft",
        };
        let _ = writeln!(html, "<p class=\"{class}\">{}</p></div>", escape(&end(run)));
    }
    html.push_str("</div>\n");
}

fn legend(html: &mut String, runs: &[Run]) {
    html.push_str("<div class=\"legend\">");
    for (at, run) in runs.iter().enumerate() {
        let _ = write!(html, "<span class=\"c{}\"><i></i>{}</span>", at % 4, escape(&run.server));
    }
    html.push_str("</div>\n");
}

/// A plot definition without data.
struct Chart {
    title: &'static str,
    note: &'static str,
    unit: &'static str,
    /// A limit line and its name.
    limit: Option<(f64, &'static str)>,
    log: bool,
    value: fn(&Step) -> Option<f64>,
}

/// Creates a latency chart with a logarithmic scale.
fn latency(title: &'static str, note: &'static str, value: fn(&Step) -> Option<f64>) -> Chart {
    Chart { title, note, unit: " ms", limit: Some((1000.0, "SLO: 1 s")), log: true, value }
}

/// Creates a chart with a linear scale.
fn plain(
    title: &'static str,
    note: &'static str,
    unit: &'static str,
    limit: Option<(f64, &'static str)>,
    value: fn(&Step) -> Option<f64>,
) -> Chart {
    Chart { title, note, unit, limit, log: false, value }
}

/// Returns the plots of the page. `cores` is the number of cores that the servers may use.
fn charts(cores: Option<f64>) -> [Chart; 8] {
    let core = cores.filter(|cores| *cores == 1.0).map(|_| (100.0, "one core"));
    let lists = latency("Latency of lists", "p99 of a page, logarithmic", |step| step.p99(Class::List));
    [
        plain("Load", "requests per second that were due", "", None, |step| Some(step.rate)),
        plain("CPU of the server", "share of one core", " %", core, |step| {
            Some(step.usage.server_cpu? * 100.0)
        }),
        latency("Latency of writes", "p99 from when they were due, logarithmic", |step| {
            step.p99(Class::Write)
        }),
        latency("Latency of single reads", "p99, logarithmic", |step| step.p99(Class::Read)),
        latency("Latency of events", "p99 from when the write was due to its arrival at a watch", |step| {
            step.p99(Class::Event)
        }),
        Chart { limit: Some((30_000.0, "SLO: 30 s")), ..lists },
        Chart {
            log: true,
            ..plain("Memory of the server", "most resident memory in MiB, logarithmic", "", None, |step| {
                step.usage.server_mib
            })
        },
        plain(
            "Load generator and store",
            "CPU of both, as a share of their cores: below 100 % they were not the limit",
            " %",
            Some((100.0, "full")),
            |step| Some(step.usage.client_share() * 100.0),
        ),
    ]
}

fn plots(html: &mut String, runs: &[Run]) {
    let cores = runs.iter().flat_map(|run| &run.steps).find_map(|step| step.usage.server_cores);
    let names: Vec<String> = runs.iter().map(|run| escape(&run.server)).collect();
    html.push_str("<div class=\"plots\">\n");
    for Chart { title, note, unit, limit, log, value } in charts(cores) {
        let points = |run: &Run| {
            let point = |step: &Step| {
                let passed = step.verdict == Verdict::Passed;
                value(step).map(|y| Point { x: step.nodes as f64, y, passed })
            };
            run.steps.iter().filter_map(point).collect()
        };
        let lines = names.iter().map(String::as_str).zip(runs.iter().map(points)).collect();
        html.push_str(&plot::draw(&Plot { title, note, unit, log, limit, lines }).unwrap_or_default());
    }
    html.push_str("</div>\n");
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Formats a number briefly: thousands separators, three significant digits below a hundred.
fn short(value: f64) -> String {
    if value.abs() < 99.5 {
        let digits = if value.abs() >= 9.95 { 1 } else { 2 };
        let text = format!("{value:.digits$}");
        return if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        };
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::step::tests::step;
    use super::*;

    fn runs() -> Vec<Run> {
        let run = |server: &str, steps| Run { server: server.to_owned(), steps, ended: None };
        vec![
            run("ours", vec![step(100, 3.0), step(1000, 20.0), step(1500, 4000.0)]),
            run("a<b", vec![step(100, 30.0), step(150, 2000.0)]),
            run("none", Vec::new()),
        ]
    }

    #[test]
    fn numbers_are_formatted_briefly() {
        let cases = [
            (0.0, "0"),
            (0.123, "0.12"),
            (7.0, "7"),
            (12.34, "12.3"),
            (999.9, "1,000"),
            (1_234_567.0, "1,234,567"),
        ];
        for (value, expected) in cases {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn summary_has_largest_size_and_reason() {
        let text = summary(&runs());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ours: 1,000 nodes within the SLOs; at 1,500: SLO broken: p99 of writes 4.0 s");
        assert!(lines[1].starts_with("a<b: 100 nodes within the SLOs, 0.10 of the first;"), "{text}");
        assert!(lines[2].ends_with("nothing was measured"), "{text}");
    }

    #[test]
    fn page_is_self_contained_and_well_formed() {
        let html = page(&plan(&[]), &runs());
        for outside in ["http://", "https://", "src=", "<script", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert!(html.contains("<strong>10.0 ×</strong> a&lt;b") && !html.contains("a<b"));
        for tag in ["div", "figure", "svg", "table", "tr", "td", "p", "g"] {
            let opened =
                html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
