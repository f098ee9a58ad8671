//! Rows of custom resources, from the paths of `additionalPrinterColumns`.

use apimachinery::duration::human_duration;
use apimachinery::time::{UnixTime, parse_time};
use jsontree::{Object, Value};

use super::UNKNOWN;
use super::cell::Cell;
use crate::descriptions::description;
use crate::jsonpath::{EvaluationBudget, JsonPath, SelectedValue};
use crate::resources::custom::PrinterColumn;

/// Printer of a custom resource in one version. The paths are parsed once and used for every object.
#[derive(Debug)]
pub struct CustomPrinter {
    columns: Vec<(PrinterColumn, JsonPath)>,
}

/// Text budget of the cells of one row in bytes, not counting the last cell.
const TEXT_BYTES_MAX: usize = 4 << 20;

impl CustomPrinter {
    /// Creates the printer of these columns; without any it shows the age. Validation does not parse the
    /// paths. A column with a malformed path, and all columns after it, are not shown.
    pub fn new(columns: &[PrinterColumn]) -> Self {
        match columns {
            [] => Self::of(&[age()]),
            columns => Self::of(columns),
        }
    }

    /// Creates the printer of `autoscaling/v1` Scales of custom resources.
    pub fn of_scales() -> Self {
        let replicas = |name: &str, description: &str, path: &str| PrinterColumn {
            name: name.to_owned(),
            kind: "integer".to_owned(),
            description: description.to_owned(),
            json_path: path.to_owned(),
            ..PrinterColumn::default()
        };
        Self::of(&[
            replicas("Desired", "Number of desired replicas", ".spec.replicas"),
            replicas("Available", "Number of actual replicas", ".status.replicas"),
            age(),
        ])
    }

    fn of(columns: &[PrinterColumn]) -> Self {
        let read = columns.iter().map_while(|column| {
            let path = JsonPath::of(&column.json_path).ok()?;
            let mut column = column.clone();
            if column.description.is_empty() {
                column.description =
                    format!("Custom resource definition column (in JSONPath format): {}", column.json_path);
            }
            Some((column, path))
        });
        CustomPrinter { columns: read.collect() }
    }

    /// Iterates over the column definitions of a Table. The name always comes first.
    pub fn columns(&self) -> impl Iterator<Item = ColumnDefinition<'_>> {
        let name = ColumnDefinition {
            name: "Name",
            kind: "string",
            format: "name",
            description: of_metadata("name"),
            priority: 0,
        };
        let columns = self.columns.iter().map(|(column, _)| ColumnDefinition {
            name: &column.name,
            kind: &column.kind,
            format: &column.format,
            description: &column.description,
            priority: column.priority,
        });
        std::iter::once(name).chain(columns)
    }

    /// Returns the cells of an object; ages count up to `now`. Columns are empty after earlier ones have
    /// exceeded the text budget. Otherwise many columns could each show the whole object.
    pub fn cells<'a>(&'a self, object: &'a Object, now: UnixTime) -> Vec<Cell<'a>> {
        let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        let mut work = EvaluationBudget::default();
        let mut remaining_bytes = TEXT_BYTES_MAX;
        let cells = self.columns.iter().map(|(column, path)| match path.first(object, &mut work) {
            Ok(Some(value)) if remaining_bytes > 0 => {
                let cell = cell(&column.kind, value, now);
                if let Cell::Text(text) = &cell {
                    remaining_bytes = remaining_bytes.saturating_sub(text.len());
                }
                cell
            }
            _ => Cell::Null,
        });
        std::iter::once(name.unwrap_or_default().into()).chain(cells).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    pub name: &'a str,
    /// OpenAPI type of the cells.
    pub kind: &'a str,
    /// OpenAPI format; `name` marks the column that identifies the object.
    pub format: &'a str,
    pub description: &'a str,
    /// 0 is always shown, others on request (`-o wide`).
    pub priority: i32,
}

fn of_metadata(member: &str) -> &'static str {
    description("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", member)
}

fn age() -> PrinterColumn {
    PrinterColumn {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        description: of_metadata("creationTimestamp").to_owned(),
        json_path: ".metadata.creationTimestamp".to_owned(),
        ..PrinterColumn::default()
    }
}

/// Converts a selected value to a cell of the column's type. In columns other than text, values of another
/// type give an empty cell.
fn cell<'a>(kind: &str, value: SelectedValue<'a>, now: UnixTime) -> Cell<'a> {
    match (kind, value) {
        ("string", SelectedValue::Text(text)) => text.into(),
        ("string", value) => value.text().into(),
        ("integer", SelectedValue::Int(number)) => number.into(),
        ("integer", SelectedValue::Float(number)) => go_int64(number).into(),
        ("number", SelectedValue::Int(number)) => Cell::Number(number as f64),
        ("number", SelectedValue::Float(number)) => Cell::Number(number),
        ("boolean", SelectedValue::Bool(flag)) => flag.into(),
        ("date", SelectedValue::Text(text)) => since(text, now).into(),
        _ => Cell::Null,
    }
}

/// Converts like Go, which has one result for all numbers out of range.
fn go_int64(number: f64) -> i64 {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&number) { number as i64 } else { i64::MIN }
}

fn since(text: &str, now: UnixTime) -> String {
    if matches!(text, "" | "null") {
        return UNKNOWN.to_owned();
    }
    match parse_time(text) {
        Ok(time) if time.is_go_zero() => UNKNOWN.to_owned(),
        Ok(time) => human_duration(now.nanos_since(time)),
        Err(_) => "<invalid>".to_owned(),
    }
}

#[cfg(test)]
mod tests;
