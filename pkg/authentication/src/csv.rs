//! CSV parser compatible with Go's `encoding/csv`: quotes, doubled quotes, line breaks inside quotes, and
//! skipped blank lines. Errors have Go's wording, for reports about invalid token files.

/// Parse error. Lines and columns count from 1; columns count bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}parse error on line {line}, column {column}: {problem}", record_prefix(*.start_line, *.line))]
pub struct CsvError {
    /// The first line of the record.
    pub start_line: usize,
    /// The line of the problem.
    pub line: usize,
    /// The column of the problem.
    pub column: usize,
    /// Go's text for the problem.
    pub problem: &'static str,
}

fn record_prefix(start_line: usize, line: usize) -> String {
    if start_line == line { String::new() } else { format!("record on line {start_line}; ") }
}

const BARE_QUOTE: &str = "bare \" in non-quoted field";
const QUOTE: &str = "extraneous or missing \" in quoted-field";

/// Parses all records.
///
/// # Errors
/// The first misplaced quote.
pub(crate) fn records(text: &str) -> Result<Vec<Vec<String>>, CsvError> {
    let mut lines = Lines { rest: text, number: 0 };
    let mut records = Vec::new();
    while let Some(line) = lines.next() {
        if !line.is_empty() {
            records.push(record(line, &mut lines)?);
        }
    }
    Ok(records)
}

/// Iterator over lines without their line ends (`\n` or `\r\n`).
struct Lines<'t> {
    rest: &'t str,
    number: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

fn record<'t>(first: &'t str, lines: &mut Lines<'t>) -> Result<Vec<String>, CsvError> {
    let start_line = lines.number;
    let mut fields = Vec::new();
    let mut line = first;
    let mut rest = first;
    loop {
        let column = |rest: &str| line.len() - rest.len() + 1;
        let Some(quoted) = rest.strip_prefix('"') else {
            let (field, after) = match rest.split_once(',') {
                Some((field, after)) => (field, Some(after)),
                None => (rest, None),
            };
            if let Some((before, _)) = field.split_once('"') {
                let column = column(rest) + before.len();
                return Err(CsvError { start_line, line: lines.number, column, problem: BARE_QUOTE });
            }
            fields.push(field.to_owned());
            match after {
                Some(after) => rest = after,
                None => return Ok(fields),
            }
            continue;
        };
        let (field, after_line, after) = quoted_field(line, quoted, start_line, lines)?;
        fields.push(field);
        match after.strip_prefix(',') {
            Some(after) => (line, rest) = (after_line, after),
            None => return Ok(fields),
        }
    }
}

/// Parses a field after its opening quote. Returns it with its last line and the rest of that line: empty, or
/// a comma and more.
fn quoted_field<'t>(
    mut line: &'t str,
    mut rest: &'t str,
    start_line: usize,
    lines: &mut Lines<'t>,
) -> Result<(String, &'t str, &'t str), CsvError> {
    let mut field = String::new();
    loop {
        let Some((text, after)) = rest.split_once('"') else {
            field.push_str(rest);
            let number = lines.number;
            let column = line.len() + 1;
            line = lines.next().ok_or(CsvError { start_line, line: number, column, problem: QUOTE })?;
            field.push('\n');
            rest = line;
            continue;
        };
        field.push_str(text);
        if let Some(after) = after.strip_prefix('"') {
            field.push('"');
            rest = after;
        } else if after.is_empty() || after.starts_with(',') {
            return Ok((field, line, after));
        } else {
            let column = line.len() - after.len();
            return Err(CsvError { start_line, line: lines.number, column, problem: QUOTE });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[&[&str]], &str>) {
        let got = records(text).map_err(|error| error.to_string());
        let expected = expected
            .map(|records| records.iter().map(|r| r.iter().map(|&f| f.to_owned()).collect()).collect())
            .map_err(str::to_owned);
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn records_are_read_as_go_reads_them() {
        check("", Ok(&[]));
        check("a,b\nc,,\n", Ok(&[&["a", "b"], &["c", "", ""]]));
        check("a\r\n\r\n\nb\r", Ok(&[&["a"], &["b"]]));
        check("\"a,b\",c", Ok(&[&["a,b", "c"]]));
        check("\"a\"\"b\"", Ok(&[&["a\"b"]]));
        check("x,\"a\nb\",y\nz", Ok(&[&["x", "a\nb", "y"], &["z"]]));
        check("\"\"", Ok(&[&[""]]));
        check(" a, b", Ok(&[&[" a", " b"]]));
    }

    #[test]
    fn misplaced_quotes_are_reported_with_position() {
        check("a\"b", Err("parse error on line 1, column 2: bare \" in non-quoted field"));
        check("x\nab,c\"", Err("parse error on line 2, column 5: bare \" in non-quoted field"));
        check("\"a\"b", Err("parse error on line 1, column 3: extraneous or missing \" in quoted-field"));
        check("\"a", Err("parse error on line 1, column 3: extraneous or missing \" in quoted-field"));
        check(
            "\"a\nb",
            Err(
                "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field",
            ),
        );
    }
}
