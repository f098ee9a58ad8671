//! Flame graphs of CPU profiles, as SVG without scripts and style sheets, so that a strict content security policy allows
//! them.

use std::collections::BTreeMap;
use std::fmt::Write;

use inferno::flamegraph::{self, Direction, Options};

use crate::{Error, failed};

/// Width of the image in pixels.
const WIDTH: usize = 1200;
/// Font size in pixels.
const FONT_SIZE: usize = 12;
/// Frames with a smaller share of the samples, in percent, are left out. This bounds the size of the image.
const SHARE_MIN: f64 = 0.1;
/// Attributes of the root that replace the style sheet.
const FONT: &str = "<svg font-family=\"monospace\" font-size=\"12\" ";

/// Text of the image for an idle process.
const NO_SAMPLES: &str = "No samples: the process used no CPU time";

/// Renders stacks, innermost address first, with their counts. Without stacks, the image contains only a text.
///
/// # Errors
/// The graph cannot be written.
pub(crate) fn render<'s>(
    stacks: impl Iterator<Item = (&'s Vec<u64>, i64)>,
    names: &BTreeMap<u64, String>,
) -> Result<String, Error> {
    let lines: Vec<String> = stacks.map(|(stack, count)| folded(stack, count, names)).collect();
    if lines.is_empty() {
        return Ok(without_samples());
    }
    let mut options = Options::default();
    "CPU time".clone_into(&mut options.title);
    options.image_width = Some(WIDTH);
    options.font_size = FONT_SIZE;
    options.min_width = SHARE_MIN;
    options.deterministic = true;
    // The root is at the top, where a reader starts.
    options.direction = Direction::Inverted;
    options.no_javascript = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).map_err(failed)?;
    Ok(without_scripts(&String::from_utf8_lossy(&svg)))
}

fn without_samples() -> String {
    let middle = WIDTH / 2;
    let height = 4 * FONT_SIZE;
    let baseline = 2 * FONT_SIZE;
    format!(
        "{FONT}xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\">\n\
         <text x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{NO_SAMPLES}</text>\n</svg>\n"
    )
}

/// Returns a line of the folded format: functions from the outermost to the innermost, and the count.
fn folded(stack: &[u64], count: i64, names: &BTreeMap<u64, String>) -> String {
    let mut line = String::new();
    for address in stack.iter().rev() {
        if !line.is_empty() {
            line.push(';');
        }
        match names.get(address) {
            // A semicolon separates frames, but is also part of array types.
            Some(name) => line.push_str(&name.replace(';', ",")),
            None => _ = write!(line, "{address:#x}"),
        }
    }
    let _ = write!(line, " {count}");
    line
}

/// Ids of texts that only scripts use.
const CONTROLS: [&str; 4] = ["details", "unzoom", "search", "matched"];

/// Removes scripts, their controls, the style sheet, and what precedes the root element.
fn without_scripts(svg: &str) -> String {
    let root = svg.find("<svg ").unwrap_or_default();
    let svg = svg.get(root..).unwrap_or_default().replacen("<svg ", FONT, 1);
    let svg = without_element(&without_element(&svg, "script"), "style");
    let svg = CONTROLS.iter().fold(svg, |svg, id| without_text(&svg, id));
    let svg = svg.replace(" onload=\"init(evt)\"", "");
    svg.replace("id=\"title\"", "id=\"title\" text-anchor=\"middle\"")
}

fn without_element(svg: &str, name: &str) -> String {
    without(svg, &format!("<{name} "), &format!("</{name}>"))
}

fn without_text(svg: &str, id: &str) -> String {
    without(svg, &format!("<text id=\"{id}\""), "</text>")
}

/// Removes the first part from `start` to `end`. Texts of the image are escaped, so that they contain no tags.
fn without(svg: &str, start: &str, end: &str) -> String {
    let rest = svg.split_once(start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    rest.map_or_else(|| svg.to_owned(), |(before, after)| format!("{before}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg() -> String {
        let names = [(1, "main"), (2, "<[u8; 4]>::read")];
        let names = names.into_iter().map(|(address, name)| (address, name.to_owned())).collect();
        let stacks = [(vec![2, 1], 30), (vec![0x10, 1], 10)];
        render(stacks.iter().map(|(stack, count)| (stack, *count)), &names).unwrap()
    }

    #[test]
    fn frames_have_names_and_counts() {
        let svg = svg();
        for text in
            ["main (40 samples, 100.00%)", "&lt;[u8, 4]&gt;::read (30 samples, 75.00%)", "0x10 (10 samples"]
        {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn image_has_no_script_and_no_style() {
        let svg = svg();
        assert!(svg.starts_with(FONT) && svg.trim_end().ends_with("</svg>"), "{svg}");
        for text in ["<script", "<style", "onload", "onclick", "DOCTYPE", "href", "Search", "Reset"] {
            assert!(!svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn idle_process_has_image_with_text() {
        let svg = render(std::iter::empty(), &BTreeMap::new()).unwrap();
        assert!(svg.starts_with(FONT) && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains(NO_SAMPLES) && svg.contains("http://www.w3.org/2000/svg"), "{svg}");
    }
}
