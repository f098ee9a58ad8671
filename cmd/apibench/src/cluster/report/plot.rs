//! SVG plot of one metric over the number of nodes, with one line per server.

use std::fmt::Write as _;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 506.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 216.0;

/// A data point.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Number of nodes.
    pub(super) x: f64,
    /// Value of the metric.
    pub(super) y: f64,
    /// True if the step passed.
    pub(super) passed: bool,
}

/// A plot with its data.
#[derive(Debug)]
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// Description of the vertical axis.
    pub(super) note: &'a str,
    /// Unit suffix of values.
    pub(super) unit: &'a str,
    /// True if the vertical axis is logarithmic.
    pub(super) log: bool,
    /// A limit line and its name.
    pub(super) limit: Option<(f64, &'a str)>,
    /// Name and points of each server; no points without data.
    pub(super) lines: Vec<(&'a str, Vec<Point>)>,
}

/// An axis that maps values to positions.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns round tick values: on a logarithmic axis powers of ten, with values in between if there are
    /// few.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let digits: &[f64] = match (self.high / self.low).log10() {
                wide if wide > 3.0 => &[1.0],
                _ => &[1.0, 2.0, 5.0],
            };
            let all = (-3..8).flat_map(|exponent| digits.iter().map(move |d| d * 10_f64.powi(exponent)));
            return all.filter(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick)).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|d| d * power).find(|step| *step >= rough);
        let step = step.unwrap_or(power);
        (0..=10).map(|at| f64::from(at) * step).take_while(|tick| *tick <= self.high * 1.001).collect()
    }
}

/// Draws the plot; `None` without data.
pub(super) fn draw(plot: &Plot<'_>) -> Option<String> {
    let points = || plot.lines.iter().flat_map(|(_, points)| points);
    points().next()?;
    let xs = || points().map(|point| point.x);
    let least = xs().fold(f64::MAX, f64::min);
    let most = xs().fold(0.0, f64::max);
    let x = Scale { low: least / 1.1, high: most * 1.1, log: true, from: LEFT, to: RIGHT };
    let highest = points().map(|point| point.y).fold(0.0, f64::max);
    let lowest = points().map(|point| point.y).filter(|y| *y > 0.0).fold(f64::MAX, f64::min);
    let with_limit = plot.limit.map_or(highest, |(limit, _)| highest.max(limit));
    let y = if plot.log {
        Scale { low: (lowest / 1.5).max(1e-3), high: with_limit * 1.5, log: true, from: BOTTOM, to: TOP }
    } else {
        Scale { low: 0.0, high: (with_limit * 1.08).max(1e-6), log: false, from: BOTTOM, to: TOP }
    };
    let mut svg = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        svg,
        r#"<figure><strong>{}</strong><figcaption>{}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
        plot.title, plot.note, plot.title
    );
    axes(&mut svg, &x, &y, plot.unit);
    if let Some((limit, name)) = plot.limit {
        let at = y.at(limit);
        let _ = writeln!(svg, r#"<line class="limit" x1="{LEFT}" y1="{at:.1}" x2="{RIGHT}" y2="{at:.1}"/>"#);
        let _ = writeln!(
            svg,
            r#"<text class="limit-text" x="{:.1}" y="{:.1}">{name}</text>"#,
            LEFT + 6.0,
            at - 5.0
        );
    }
    for (at, (name, points)) in plot.lines.iter().enumerate() {
        line(&mut svg, at, name, points, &x, &y, plot.unit);
    }
    svg.push_str("</svg></figure>\n");
    Some(svg)
}

fn axes(svg: &mut String, x: &Scale, y: &Scale, unit: &str) {
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(svg, r#"<line class="grid" x1="{LEFT}" y1="{at:.1}" x2="{RIGHT}" y2="{at:.1}"/>"#);
        let label = format!("{}{unit}", super::short(tick));
        let _ = writeln!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
            LEFT - 7.0,
            at + 4.0
        );
    }
    let _ = writeln!(svg, r#"<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>"#);
    for tick in x.ticks() {
        let at = x.at(tick);
        let label = super::short(tick);
        let _ = writeln!(
            svg,
            r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
            BOTTOM + 16.0
        );
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    let _ = writeln!(svg, r#"<text x="{middle}" y="{:.1}" text-anchor="middle">nodes</text>"#, BOTTOM + 31.0);
}

fn line(svg: &mut String, at: usize, name: &str, points: &[Point], x: &Scale, y: &Scale, unit: &str) {
    let place = |point: &Point| (x.at(point.x), y.at(point.y));
    let path: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(svg, r#"<g class="c{}"><polyline points="{}"/>"#, at % 4, path.join(" "));
    for point in points {
        let (cx, cy) = place(point);
        let class = if point.passed { "" } else { r#" class="broken""# };
        let _ = writeln!(
            svg,
            r#"<circle{class} cx="{cx:.1}" cy="{cy:.1}" r="4.5"><title>{name}, {} nodes: {}{unit}</title></circle>"#,
            super::short(point.x),
            super::short(point.y)
        );
    }
    svg.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_at_the_axes() {
        let point = |x, y| Point { x, y, passed: y < 100.0 };
        let lines = vec![("a", vec![point(100.0, 5.0), point(1000.0, 500.0)]), ("b", Vec::new())];
        let plot =
            Plot { title: "t", note: "n", unit: " ms", log: true, limit: Some((1000.0, "SLO")), lines };
        let svg = draw(&plot).unwrap();
        assert!(svg.contains("a, 1,000 nodes: 500 ms") && svg.contains(r#"class="broken""#), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let none = Plot { lines: vec![("a", Vec::new())], ..plot };
        assert!(draw(&none).is_none());
    }

    #[test]
    fn ticks_are_round_and_few() {
        let linear = Scale { low: 0.0, high: 137.0, log: false, from: 0.0, to: 1.0 };
        assert_eq!(linear.ticks(), [0.0, 50.0, 100.0]);
        let log = Scale { low: 1.0, high: 5000.0, log: true, from: 0.0, to: 1.0 };
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }
}
