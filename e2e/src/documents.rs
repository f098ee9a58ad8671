//! Code blocks of the repository's Markdown pages.

use std::path::{Path, PathBuf};

use crate::tools;

/// Pages and folders whose command blocks are run.
const PLACES: [&str; 6] =
    ["README.md", "CONTRIBUTING.md", "clients", "cmd/apibench/README.md", "deploy", "docs"];
/// Language of command blocks.
pub const SHELL: &str = "sh";
/// First words of a block that is not run, before the reason.
const UNTESTED: &str = "# Not tested: ";
/// Marks a block that runs until the page ends, after the language.
const SERVER: &str = "server";
/// Marks a block that needs the files of `make dist`.
const DIST: &str = "dist";

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Line of its first line of code, from 1.
    pub line: usize,
    /// Words after the opening fence: the language, and marks for the test.
    info: String,
    pub text: String,
}

impl Block {
    /// Returns the language.
    pub fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or_default()
    }

    /// True for a command that runs until the end and prints `export NAME=VALUE` when it is ready.
    pub fn is_server(&self) -> bool {
        self.has_mark(SERVER)
    }

    /// True for a command that needs the files of `make dist`. `e2e/quickstarts` runs it.
    pub fn needs_dist(&self) -> bool {
        self.has_mark(DIST)
    }

    fn has_mark(&self, mark: &str) -> bool {
        self.info.split_whitespace().skip(1).any(|word| word == mark)
    }

    /// Returns the reason why a command block is not run; `None` if it is run.
    pub fn untested(&self) -> Option<&str> {
        self.text.lines().next()?.strip_prefix(UNTESTED)
    }
}

/// Returns the fenced code blocks of a page, without the indentation of their fences.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (line, number) in page.lines().zip(1..) {
        let text = line.trim_start();
        let fence = text.strip_prefix("```");
        match (open.take(), fence) {
            (Some((_, block)), Some(_)) => blocks.push(block),
            (Some((indentation, mut block)), None) => {
                block.text.push_str(line.get(indentation..).unwrap_or(text));
                block.text.push('\n');
                open = Some((indentation, block));
            }
            (None, Some(info)) => {
                let block = Block { line: number + 1, info: info.to_owned(), text: String::new() };
                open = Some((line.len() - text.len(), block));
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Returns the paths of all pages with command blocks that are run, from the root.
///
/// # Panics
/// A folder cannot be read.
pub fn pages() -> Vec<PathBuf> {
    let root = tools::root();
    let mut pages = Vec::new();
    let mut paths: Vec<PathBuf> = PLACES.iter().map(|place| root.join(place)).collect();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            paths.extend(entries.map(|entry| entry.expect("a folder can be read").path()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path.strip_prefix(&root).map(Path::to_owned).unwrap_or(path));
        }
    }
    pages.sort();
    pages
}

#[test]
fn fences_become_blocks() {
    let page = "text\n\n1. item\n\n   ```sh server\n   a\n     b\n   ```\n\n```yaml\nx: 1\n```\n";
    let found = blocks(page);
    let text = |at: usize| found.get(at).map(|block| (block.line, block.language(), block.text.as_str()));
    assert_eq!(text(0), Some((6, SHELL, "a\n  b\n")));
    assert_eq!(text(1), Some((11, "yaml", "x: 1\n")));
    assert_eq!(found.iter().map(Block::is_server).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn mark_selects_files_of_a_release() {
    let found = blocks("```sh dist\na\n```\n\n```sh\nb\n```\n");
    assert_eq!(found.iter().map(Block::needs_dist).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn first_line_has_the_reason() {
    let reason = |text: &str| {
        let block = Block { line: 1, info: SHELL.to_owned(), text: text.to_owned() };
        block.untested().map(str::to_owned)
    };
    assert_eq!(reason("# Not tested: needs root.\nsudo x\n").as_deref(), Some("needs root."));
    assert_eq!(reason("x\n# Not tested: needs root.\n"), None);
}
