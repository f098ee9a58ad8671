//! SVG chart of CPU per operation of each other server relative to the first one, on a logarithmic scale.

use std::fmt::Write as _;

use super::{Results, ratio};

const WIDTH: f64 = 860.0;
/// Bounds of the plot area.
const LEFT: f64 = 180.0;
const RIGHT: f64 = 800.0;
const TOP: f64 = 78.0;
/// Space for labels beyond the longest bars.
const FIGURE: f64 = 56.0;
const BAR: f64 = 16.0;
const GAP: f64 = 10.0;
/// Colours of the servers after the first; they differ in brightness too. They repeat.
const COLOURS: [&str; 4] = ["#2f6db3", "#e08214", "#3f9b5b", "#8e5aa8"];

/// Ratios of one workload, in server order.
struct Group {
    workload: &'static str,
    ratios: Vec<Option<f64>>,
}

/// Draws the chart; `None` if no workload has results of two servers.
pub(crate) fn plot(results: &Results, servers: &[String]) -> Option<String> {
    let (first, later) = servers.split_first()?;
    let mut groups = Vec::new();
    for (workload, summaries) in results.by_workload(servers) {
        let of = |name: &String| {
            let entry = summaries.iter().find(|(server, _)| server == name);
            entry.and_then(|(_, summary)| summary.cpu_ms_per_op)
        };
        let ratios: Vec<_> = later.iter().map(|server| ratio(of(server), of(first))).collect();
        if ratios.iter().any(Option::is_some) {
            groups.push(Group { workload, ratios });
        }
    }
    (!groups.is_empty()).then(|| draw(&groups, first, later))
}

/// Logarithmic scale of ratios.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Covers all ratios, and at least 0.5 to 2.
    fn of(groups: &[Group]) -> Self {
        let ratios = || groups.iter().flat_map(|group| group.ratios.iter().flatten().copied());
        let low = ratios().fold(0.5, f64::min);
        let high = ratios().fold(2.0, f64::max);
        Self { low, high }
    }

    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        LEFT + FIGURE + share * (RIGHT - LEFT - 2.0 * FIGURE)
    }

    /// Returns 1, 2 and 5 of each power of ten within the scale.
    fn ticks(&self) -> Vec<f64> {
        let tick = |exponent: i32, digit: f64| digit * 10_f64.powi(exponent);
        let all = (-4..=5).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| tick(exponent, digit)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

fn draw(groups: &[Group], first: &str, later: &[String]) -> String {
    let scale = Scale::of(groups);
    let group_height = BAR * later.len() as f64 + GAP;
    let bottom = TOP + group_height * groups.len() as f64;
    let mut svg = String::new();
    head(&mut svg, bottom + 50.0, first, later);
    axis(&mut svg, &scale, bottom);
    for (at, group) in groups.iter().enumerate() {
        let y = TOP + group_height * at as f64 + GAP / 2.0;
        let middle = y + BAR * later.len() as f64 / 2.0 + 4.0;
        text(&mut svg, LEFT - 10.0, middle, "end", "label", group.workload);
        for (server, ratio) in group.ratios.iter().enumerate() {
            if let Some(ratio) = ratio {
                bar(&mut svg, &scale, y + BAR * server as f64, server, *ratio);
            }
        }
    }
    let below = format!("left of 1: less CPU than {first}; right of 1: more (logarithmic)");
    text(&mut svg, f64::midpoint(LEFT, RIGHT), bottom + 38.0, "middle", "note", &below);
    svg.push_str("</svg>\n");
    svg
}

fn head(svg: &mut String, height: f64, first: &str, later: &[String]) {
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" role="img">
<style>
text {{ font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #222 }}
.title {{ font-size: 17px; font-weight: 600 }} .note, .tick {{ fill: #666; font-size: 11px }}
.grid {{ stroke: #e2e2e2 }} .one {{ stroke: #555; stroke-width: 1.5 }}
</style>
<rect width="100%" height="100%" fill="#fff"/>"##
    );
    let title = format!("Server CPU per operation, {first} = 1");
    text(svg, 20.0, 28.0, "start", "title", &title);
    let mut x = 20.0;
    for (at, server) in later.iter().enumerate() {
        let _ = writeln!(svg, r#"<rect x="{x:.0}" y="42" width="12" height="12" fill="{}"/>"#, colour(at));
        text(svg, x + 18.0, 52.0, "start", "label", server);
        x += 40.0 + 7.0 * server.chars().count() as f64;
    }
}

fn axis(svg: &mut String, scale: &Scale, bottom: f64) {
    for tick in scale.ticks() {
        let x = scale.x(tick);
        let class = if tick == 1.0 { "one" } else { "grid" };
        let _ =
            writeln!(svg, r#"<line class="{class}" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom:.1}"/>"#);
        text(svg, x, bottom + 16.0, "middle", "tick", &format!("{}×", short(tick)));
    }
}

fn bar(svg: &mut String, scale: &Scale, y: f64, server: usize, ratio: f64) {
    let origin = scale.x(1.0);
    let end = scale.x(ratio);
    let x = origin.min(end);
    let width = (origin - end).abs().max(1.0);
    let _ = writeln!(
        svg,
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{:.1}" fill="{}"/>"#,
        BAR - 2.0,
        colour(server)
    );
    let label = format!("{ratio:.2}×");
    let (at, anchor) = if end < origin { (end - 4.0, "end") } else { (end + 4.0, "start") };
    text(svg, at, y + BAR - 5.0, anchor, "label", &label);
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, class: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#
    );
}

fn colour(server: usize) -> &'static str {
    COLOURS.get(server % COLOURS.len()).copied().unwrap_or("#444")
}

/// Formats a tick without binary rounding noise.
fn short(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;

    fn chart(ratios: &[f64]) -> String {
        let mut results = Results::default();
        for (workload, ratio) in ["get", "list-json", "create"].into_iter().zip(ratios) {
            results.add(workload, "a<b", measured(100.0));
            results.add(workload, "c&d", measured(100.0 * ratio));
        }
        plot(&results, &["a<b".to_owned(), "c&d".to_owned()]).unwrap()
    }

    /// Asserts that tags are balanced, and that no text looks like a tag.
    #[track_caller]
    fn check_well_formed(svg: &str) {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let (tag, content) = tag.split_once('>').unwrap();
            assert!(!content.contains('>'), "{content}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap());
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }

    #[test]
    fn the_chart_is_well_formed_with_names_escaped() {
        let svg = chart(&[3.0, 0.2, 40.0]);
        check_well_formed(&svg);
        assert!(svg.contains("a&lt;b = 1") && svg.contains(">c&amp;d<"), "{svg}");
        assert!(svg.contains(">3.00×<") && svg.contains(">0.20×<") && svg.contains(">40.00×<"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn higher_ratios_are_further_right() {
        let scale = Scale { low: 0.1, high: 10.0 };
        assert!(scale.x(3.0) > scale.x(1.0) && scale.x(0.3) < scale.x(1.0));
        assert!((scale.x(1.0) - f64::midpoint(LEFT, RIGHT)).abs() < 1e-6);
        assert_eq!(scale.ticks().len(), 7);
        assert_eq!((short(0.05), short(100.0)), ("0.05".to_owned(), "100".to_owned()));
    }

    #[test]
    fn single_server_has_no_chart() {
        let mut results = Results::default();
        results.add("get", "a", measured(1.0));
        assert_eq!(plot(&results, &["a".to_owned()]), None);
        assert_eq!(plot(&results, &[]), None);
    }
}
