//! Ratchet for prose (STYLE.md): two measures of doc comments and of Markdown, with one ceiling for every crate.

use std::collections::BTreeMap;

/// Highest share of blocks that open with a relative or question word, in percent.
const OPENERS_PERCENT: f64 = 3.0;
/// Highest number of pronouns and speech verbs per 1,000 words.
const PRONOUNS_PER_THOUSAND: f64 = 2.0;

/// First words that make a sentence without a subject.
const OPENERS: &[&str] = &[
    "what", "whether", "who", "whose", "whom", "how", "where", "which", "why", "when", "whatever", "whoever",
    "those",
];
/// Pronouns for people without a role, and verbs of speech.
const PRONOUNS: &[&str] = &[
    "somebody",
    "nobody",
    "whoever",
    "anybody",
    "everybody",
    "who",
    "whom",
    "say",
    "says",
    "said",
    "tell",
    "tells",
    "told",
    "ask",
    "asks",
    "asked",
];

/// Counts of one file or of several.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    blocks: usize,
    openers: usize,
    words: usize,
    pronouns: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.blocks += other.blocks;
        self.openers += other.openers;
        self.words += other.words;
        self.pronouns += other.pronouns;
    }

    fn count(&mut self, block: &str) {
        let text = without_code(block);
        if text.trim().is_empty() {
            return;
        }
        self.blocks += 1;
        self.openers += usize::from(words(&text).next().is_some_and(|word| is_one_of(OPENERS, word)));
        self.words += words(&text).count();
        self.pronouns += words(&text).filter(|word| is_one_of(PRONOUNS, word)).count();
    }

    fn openers_percent(&self) -> f64 {
        100.0 * ratio(self.openers, self.blocks)
    }

    fn pronouns_per_thousand(&self) -> f64 {
        1000.0 * ratio(self.pronouns, self.words)
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of words are far below 2^52")]
fn ratio(part: usize, total: usize) -> f64 {
    part as f64 / total.max(1) as f64
}

fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphabetic() || c == '\'' || c == '-'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Replaces every code span and code fence by a placeholder word.
fn without_code(block: &str) -> String {
    let fences: String = block.split("```").step_by(2).collect::<Vec<_>>().join(" ");
    fences.split('`').enumerate().map(|(at, text)| if at % 2 == 0 { text } else { " x " }).collect()
}

/// Measures the doc comments of a Rust file: each run of `///` or `//!` lines is a block.
pub(crate) fn rust(source: &str) -> Counts {
    let mut counts = Counts::default();
    let mut block = String::new();
    let mut last = "";
    for line in source.lines().map(str::trim_start).chain([""]) {
        let marker = ["///", "//!"]
            .into_iter()
            .find(|marker| line.strip_prefix(*marker).is_some_and(|rest| !rest.starts_with('/')));
        if marker != Some(last) && !block.is_empty() {
            counts.count(&block);
            block.clear();
        }
        last = marker.unwrap_or_default();
        if marker.is_some() {
            block.push_str(line.get(3..).unwrap_or_default());
            block.push('\n');
        }
    }
    counts
}

/// Measures a Markdown file: each paragraph, list item, heading and table row is a block. Code fences are left out.
pub(crate) fn markdown(source: &str) -> Counts {
    let mut counts = Counts::default();
    let mut block = String::new();
    let mut fenced = false;
    for line in source.lines().chain([""]) {
        let text = line.trim_start();
        if text.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.starts_with("    ") && block.is_empty() {
            continue;
        }
        let starts_block = text.is_empty()
            || text.starts_with(['#', '|'])
            || ["- ", "* "].iter().any(|marker| text.starts_with(marker))
            || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        if starts_block {
            counts.count(&block);
            block.clear();
        }
        block.push_str(text);
        block.push('\n');
    }
    counts
}

/// The ratchet's unit: the folder of the nearest manifest, `docs` for Markdown in several folders, or the file itself
/// at the root.
fn unit(path: &str, manifests: &[String]) -> String {
    if path.ends_with(".md") {
        return path.split_once('/').map_or(path, |(folder, _)| folder).to_owned();
    }
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        if manifests.iter().any(|manifest| manifest == folder) {
            return folder.to_owned();
        }
    }
    ".".to_owned()
}

/// Returns each unit that is above a ceiling, with its measures.
pub(crate) fn findings(files: &[(String, String)]) -> Vec<String> {
    let manifests: Vec<String> =
        files.iter().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml")).map(str::to_owned).collect();
    let mut units = BTreeMap::<String, Counts>::new();
    for (path, source) in files {
        let counts = match path.rsplit_once('.') {
            Some((_, "rs")) => rust(source),
            Some((_, "md")) => markdown(source),
            _ => continue,
        };
        units.entry(unit(path, &manifests)).or_default().add(counts);
    }
    units
        .into_iter()
        .filter(|(_, counts)| {
            counts.openers_percent() > OPENERS_PERCENT
                || counts.pronouns_per_thousand() > PRONOUNS_PER_THOUSAND
        })
        .map(|(unit, counts)| {
            format!(
                "{unit}: {:.1} % of {} blocks open without a subject (at most {OPENERS_PERCENT}), \
                 {:.1} pronouns and speech verbs per 1,000 words (at most {PRONOUNS_PER_THOUSAND})",
                counts.openers_percent(),
                counts.blocks,
                counts.pronouns_per_thousand()
            )
        })
        .collect()
}

#[test]
fn relative_openers_are_counted() {
    let source =
        "//! A cache.\n/// Whether it is full.\nfn full() {}\n/// Returns `who` it is.\nfn name() {}\n";
    assert_eq!(rust(source), Counts { blocks: 3, openers: 1, words: 10, pronouns: 0 });
}

#[test]
fn speaking_programs_are_counted() {
    assert_eq!(
        rust("/// Nobody asks the server.\n"),
        Counts { blocks: 1, openers: 0, words: 4, pronouns: 2 }
    );
}

#[test]
fn markdown_blocks_exclude_code() {
    let text = "# Title\n\nHow it works.\n\n```\nwho\n```\n\n- one\n- said\n";
    assert_eq!(markdown(text), Counts { blocks: 4, openers: 1, words: 6, pronouns: 1 });
}

#[test]
fn crates_above_a_ceiling_are_found() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("pkg/a/Cargo.toml", ""),
        file("pkg/a/src/lib.rs", "//! Who calls whom.\n"),
        file("pkg/b/Cargo.toml", ""),
        file("pkg/b/src/lib.rs", "//! A cache.\n"),
        file("docs/a.md", "Somebody said so.\n"),
    ];
    let found = findings(&files);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("docs: 0.0 %"), "{found:?}");
    assert!(found[1].starts_with("pkg/a: 100.0 %"), "{found:?}");
}
