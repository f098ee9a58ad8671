//! Tests of custom resource rows.

#![allow(clippy::unwrap_used)]

use super::*;
use jsontree::json;

/// 2024-01-02T03:04:05Z
const NOW: UnixTime = UnixTime::from_seconds(1_704_164_645);

fn json_of(cells: &[Cell<'_>]) -> Value {
    let mut out = Vec::new();
    for cell in cells {
        out.push(if out.is_empty() { b'[' } else { b',' });
        cell.write(&mut out);
    }
    out.push(b']');
    serde_json::from_slice(&out).unwrap()
}

fn column(name: &str, kind: &str, json_path: &str) -> PrinterColumn {
    let name = name.to_owned();
    let kind = kind.to_owned();
    let json_path = json_path.to_owned();
    PrinterColumn { name, kind, json_path, ..PrinterColumn::default() }
}

fn object() -> Object {
    let object = json!({
        "metadata": {"name": "w", "creationTimestamp": "2024-01-02T02:04:05Z"},
        "spec": {"n": 3, "half": 2.5, "huge": 1e30, "flag": true, "text": "t", "none": null, "list": ["a", 1],
            "at": "2024-01-02T03:03:35Z", "zero": "0001-01-01T00:00:00Z", "empty": ""},
    });
    object.as_object().unwrap().clone()
}

/// Returns the cell of a column with this type and path.
fn shown(kind: &str, path: &str) -> Value {
    let printer = CustomPrinter::new(&[column("c", kind, path)]);
    let mut cells = json_of(&printer.cells(&object(), NOW));
    assert_eq!(cells[0], "w");
    cells[1].take()
}

#[test]
fn texts_show_values_of_any_type() {
    let check = |path, want: &str| assert_eq!(shown("string", path), want, "{path}");
    check(".spec.text", "t");
    check(".spec.n", "3");
    check(".spec.half", "2.5");
    check(".spec.huge", "1e+30");
    check(".spec.flag", "true");
    check(".spec.none", "<no value>");
    check(".spec.list", r#"["a",1]"#);
    check(".spec.list[*]", "a");
    assert_eq!(shown("string", ".spec.nope"), Value::Null);
    assert_eq!(shown("string", ".spec.text[0]"), Value::Null);
}

#[test]
fn typed_columns_show_only_their_type() {
    let check = |kind, path, want: Value| assert_eq!(shown(kind, path), want, "{kind} {path}");
    check("integer", ".spec.n", json!(3));
    check("integer", ".spec.half", json!(2));
    check("integer", ".spec.huge", json!(i64::MIN));
    check("integer", ".spec.text", Value::Null);
    // In Go, a number in the path has another type.
    check("integer", "5", Value::Null);
    check("number", ".spec.n", json!(3));
    check("number", ".spec.half", json!(2.5));
    check("number", ".spec.flag", Value::Null);
    check("boolean", ".spec.flag", json!(true));
    check("boolean", ".spec.text", Value::Null);
    check("boolean", ".spec.none", Value::Null);
}

#[test]
fn dates_are_ages() {
    let check = |path, want: Value| assert_eq!(shown("date", path), want, "{path}");
    check(".spec.at", json!("30s"));
    check(".spec.zero", json!("<unknown>"));
    check(".spec.empty", json!("<unknown>"));
    check(".spec.text", json!("<invalid>"));
    check(".spec.n", Value::Null);
    check(".spec.nope", Value::Null);
}

#[test]
fn a_resource_without_columns_shows_its_age() {
    let printer = CustomPrinter::new(&[]);
    assert_eq!(json_of(&printer.cells(&object(), NOW)), json!(["w", "60m"]));
    let columns: Vec<_> = printer.columns().map(|c| (c.name, c.kind, c.format, c.priority)).collect();
    assert_eq!(columns, [("Name", "string", "name", 0), ("Age", "date", "", 0)]);
    assert!(printer.columns().all(|column| column.description.len() > 50));
}

#[test]
fn columns_are_described_by_text_or_path() {
    let described = PrinterColumn {
        description: "How many.".to_owned(),
        priority: 1,
        format: "int32".to_owned(),
        ..column("Replicas", "integer", ".spec.n")
    };
    let printer = CustomPrinter::new(&[described, column("Text", "string", ".spec.text")]);
    let columns: Vec<_> = printer.columns().skip(1).collect();
    assert_eq!((columns[0].description, columns[0].priority, columns[0].format), ("How many.", 1, "int32"));
    let by_path = "Custom resource definition column (in JSONPath format): .spec.text";
    assert_eq!(columns[1].description, by_path);
}

#[test]
fn malformed_path_ends_the_columns() {
    let columns = [column("a", "string", ".a"), column("b", "string", ".b["), column("c", "string", ".c")];
    let printer = CustomPrinter::new(&columns);
    assert_eq!(printer.columns().map(|column| column.name).collect::<Vec<_>>(), ["Name", "a"]);
}

#[test]
fn a_scale_shows_both_counts_and_its_age() {
    let printer = CustomPrinter::of_scales();
    let scale = json!({
        "metadata": {"name": "w", "creationTimestamp": "2024-01-02T02:04:05Z"},
        "spec": {"replicas": 3}, "status": {"replicas": 0},
    });
    assert_eq!(json_of(&printer.cells(scale.as_object().unwrap(), NOW)), json!(["w", 3, 0, "60m"]));
}

#[test]
fn large_cells_are_limited_per_row() {
    let large = "x".repeat(1 << 20);
    let object = json!({"metadata": {"name": "w"}, "spec": {"a": large}});
    let columns: Vec<PrinterColumn> = (0..1000).map(|_| column("c", "string", ".spec")).collect();
    let printer = CustomPrinter::new(&columns);
    let cells = printer.cells(object.as_object().unwrap(), NOW);
    assert_eq!(cells.len(), 1001);
    assert_eq!(cells.iter().filter(|cell| **cell != Cell::Null).count(), 1 + 4);
}
