//! Markdown pages: each page of `docs` is in the book, links resolve, commands are in blocks that a test can run, and
//! sentences are short.

/// Table of contents of the book.
const BOOK: &str = "docs/SUMMARY.md";
/// Maximum number of words in a sentence. A colon also ends a sentence.
const WORDS_MAX: usize = 30;
/// Language of command blocks.
const SHELL: &str = "sh";
/// Languages of blocks without commands.
const LANGUAGES: [&str; 9] = ["go", "java", "javascript", "json", "python", "rust", "text", "toml", "yaml"];
/// First words of commands. A line of a `text` block must not start with one.
const PROGRAMS: [&str; 14] = [
    "cargo",
    "curl",
    "docker",
    "etcdctl",
    "git",
    "go",
    "helm",
    "kind",
    "kube-apiserver",
    "kubectl",
    "make",
    "npm",
    "pip",
    "sudo",
];

/// A line outside of code blocks.
struct Line<'p> {
    /// Number of the line, from 1.
    number: usize,
    text: &'p str,
}

/// A fenced code block.
struct Block<'p> {
    number: usize,
    language: &'p str,
    lines: Vec<&'p str>,
}

/// A page, divided into prose and code.
struct Page<'p> {
    prose: Vec<Line<'p>>,
    blocks: Vec<Block<'p>>,
}

impl<'p> Page<'p> {
    fn parse(text: &'p str) -> Self {
        let mut page = Page { prose: Vec::new(), blocks: Vec::new() };
        let mut open = false;
        for (text, number) in text.lines().zip(1..) {
            match (text.trim_start().strip_prefix("```"), page.blocks.last_mut()) {
                (Some(_), _) if open => open = false,
                (Some(info), _) => {
                    open = true;
                    let language = info.split_whitespace().next().unwrap_or_default();
                    page.blocks.push(Block { number, language, lines: Vec::new() });
                }
                (None, Some(block)) if open => block.lines.push(text),
                (None, _) => page.prose.push(Line { number, text }),
            }
        }
        page
    }
}

/// Returns the violations of all pages. `exists` is true for a file or folder of the tree.
pub(crate) fn findings(files: &[(String, String)], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = book_findings(files);
    for (path, text) in files {
        let page = Page::parse(text);
        for (number, finding) in link_findings(path, &page, files, &exists) {
            findings.push(format!("{path}:{number}: {finding}"));
        }
        for (number, finding) in block_findings(&page) {
            findings.push(format!("{path}:{number}: {finding}"));
        }
        if path.starts_with("docs/") || path == "README.md" {
            for (number, count) in long_sentences(&page) {
                findings.push(format!("{path}:{number}: a sentence of {count} words (at most {WORDS_MAX})"));
            }
        }
    }
    findings
}

/// Returns the pages of `docs` that the book does not list.
fn book_findings(files: &[(String, String)]) -> Vec<String> {
    let book = files.iter().find(|(path, _)| path == BOOK).map(|(_, text)| text.as_str());
    let listed: Vec<String> =
        book.unwrap_or_default().lines().flat_map(targets).map(|target| resolve(BOOK, target)).collect();
    let pages = files.iter().map(|(path, _)| path).filter(|path| path.starts_with("docs/") && *path != BOOK);
    let missing = pages.filter(|path| !listed.contains(path));
    missing.map(|path| format!("{path} is not listed in {BOOK}")).collect()
}

/// Returns the targets of links in a line.
fn targets(line: &str) -> Vec<&str> {
    let text: Vec<&str> = line.split('`').step_by(2).collect();
    let links = text.into_iter().flat_map(|part| part.split("](").skip(1));
    links.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// Returns a link's path from the root, without its anchor.
fn resolve(page: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    if target.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn link_findings(
    path: &str,
    page: &Page<'_>,
    files: &[(String, String)],
    exists: impl Fn(&str) -> bool,
) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    for line in &page.prose {
        for target in targets(line.text).into_iter().filter(|target| !target.contains(':')) {
            let file = resolve(path, target);
            let Some((_, text)) = files.iter().find(|(path, _)| *path == file) else {
                if !exists(&file) {
                    findings.push((line.number, format!("{target} does not exist")));
                }
                continue;
            };
            let anchor = target.split_once('#').map(|(_, anchor)| anchor);
            if anchor.is_some_and(|anchor| !anchors(text).iter().any(|known| known == anchor)) {
                findings.push((line.number, format!("{target}: the page has no such heading")));
            }
        }
    }
    findings
}

/// Returns the anchors of a page's headings.
fn anchors(text: &str) -> Vec<String> {
    let page = Page::parse(text);
    let headings = page.prose.iter().filter(|line| line.text.starts_with('#'));
    headings.map(|line| anchor(line.text.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn block_findings(page: &Page<'_>) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    for block in &page.blocks {
        if block.language == SHELL {
            continue;
        }
        if !LANGUAGES.contains(&block.language) {
            findings.push((
                block.number,
                format!("a code block needs a language: {SHELL}, {}", LANGUAGES.join(", ")),
            ));
        }
        let first = |line: &&&str| line.split(' ').next().is_some_and(|word| PROGRAMS.contains(&word));
        if block.language == "text" && block.lines.iter().any(|line| first(&line)) {
            findings.push((block.number, format!("a block of commands must have the language {SHELL}")));
        }
    }
    let mut in_list = false;
    let mut after_blank = true;
    for line in &page.prose {
        if after_blank && !in_list && line.text.starts_with("    ") {
            findings.push((line.number, "code must be in a fenced block".to_owned()));
        }
        after_blank = line.text.is_empty();
        if !after_blank && !line.text.starts_with(' ') {
            in_list = is_item(line.text);
        }
    }
    findings
}

fn is_item(line: &str) -> bool {
    let number = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    number || line.starts_with("- ") || line.starts_with("* ")
}

/// Returns the line and the number of words of each sentence that is too long. Tables are left out.
fn long_sentences(page: &Page<'_>) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut count = 0;
    for line in &page.prose {
        let text = line.text.trim_start();
        if text.is_empty() || text.starts_with(['#', '|']) || is_item(text) {
            count = 0;
        }
        if text.starts_with(['#', '|']) {
            continue;
        }
        for word in prose(text).split_whitespace() {
            count += usize::from(word.chars().any(char::is_alphanumeric));
            if count == WORDS_MAX + 1 {
                found.push((line.number, count));
            }
            let end = word.trim_end_matches([')', '*', '"', '_']);
            if end.ends_with(['.', '!', '?', ':']) {
                count = 0;
            }
        }
    }
    found
}

/// Replaces code spans by a word, and links by their text.
fn prose(line: &str) -> String {
    let spans = line.split('`').enumerate();
    let text: String = spans.map(|(at, part)| if at % 2 == 0 { part } else { "x" }).collect();
    let mut prose = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        prose.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    prose + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pages: &[(&str, &str)]) -> Vec<(String, String)> {
        pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn found(text: &str) -> Vec<String> {
        findings(&pages(&[(BOOK, "[a](a.md)"), ("docs/a.md", text)]), |path| path == "deploy")
    }

    #[test]
    fn unlisted_page_is_found() {
        let files = pages(&[(BOOK, "- [a](a.md)"), ("docs/a.md", ""), ("docs/b/c.md", "")]);
        assert_eq!(findings(&files, |_| false), ["docs/b/c.md is not listed in docs/SUMMARY.md"]);
    }

    #[test]
    fn broken_links_are_found() {
        assert_eq!(found("[x](b.md), `[y](c.md)`"), ["docs/a.md:1: b.md does not exist"]);
        assert_eq!(
            found("# A b\n[x](#a-b) [y](a.md#c)"),
            ["docs/a.md:2: a.md#c: the page has no such heading"]
        );
        assert_eq!(found("[x](../deploy) [y](https://example.com)"), Vec::<String>::new());
    }

    #[test]
    fn blocks_without_language_are_found() {
        assert_eq!(found("```sh\nmake\n```\n").len(), 0);
        assert_eq!(found("```\nx\n```\n").len(), 1);
        assert_eq!(found("```text\nmake x\n```\n").len(), 1);
        assert_eq!(found("text\n\n    make\n").len(), 1);
        assert_eq!(found("- item\n\n    more\n").len(), 0);
    }

    #[test]
    fn long_sentences_are_found() {
        let words = |count: usize| vec!["word"; count].join(" ");
        assert_eq!(found(&format!("{}. {}.", words(30), words(30))).len(), 0);
        assert_eq!(
            found(&format!("{}\n{}.", words(30), words(1))),
            ["docs/a.md:2: a sentence of 31 words (at most 30)"]
        );
        assert_eq!(found(&format!("| {} |", words(31))).len(), 0);
    }

    #[test]
    fn headings_have_githubs_anchors() {
        assert_eq!(anchor("Debian and RPM-based systems"), "debian-and-rpm-based-systems");
        assert_eq!(anchor("`--flags`, and more"), "--flags-and-more");
    }
}
