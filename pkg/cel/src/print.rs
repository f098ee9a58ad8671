//! Prints trees in the layout of cel-go's debug output, which tests compare with recordings.

use apimachinery::go_quote::{quote, quote_bytes};

use crate::syntax::{Comprehension, Entry, Expr, Key, Kind, Literal, Syntax};

/// Element to annotate.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A node of the tree.
    Expr(Expr),
    /// An entry of a map or a field of a message.
    Entry(&'a Entry),
}

/// Prints a tree with an annotation after every node and entry.
pub fn print(syntax: &Syntax, note: &dyn Fn(Item<'_>) -> String) -> String {
    let mut printer = Printer { syntax, note, out: String::new(), indent: 0, at_line_start: true };
    if let Some(root) = syntax.root() {
        printer.expr(root);
    }
    printer.out
}

struct Printer<'a> {
    syntax: &'a Syntax,
    note: &'a dyn Fn(Item<'_>) -> String,
    out: String,
    indent: usize,
    at_line_start: bool,
}

impl Printer<'_> {
    fn text(&mut self, text: &str) {
        if std::mem::take(&mut self.at_line_start) {
            self.out.push_str(&"  ".repeat(self.indent));
        }
        self.out.push_str(text);
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.at_line_start = true;
    }

    fn expr(&mut self, expr: Expr) {
        let syntax = self.syntax;
        match syntax.kind(expr) {
            Kind::Literal(value) => self.text(&literal(syntax, value)),
            Kind::Ident(name) => self.text(syntax.name(name)),
            Kind::Select { operand, field, test } => {
                self.expr(operand);
                self.text(".");
                self.text(syntax.name(field));
                self.text(if test { "~test-only~" } else { "" });
            }
            Kind::Call { function, target, args } => {
                if let Some(target) = target {
                    self.expr(target);
                    self.text(".");
                }
                self.text(syntax.name(function));
                self.items("(", syntax.exprs(args), ")", |printer, arg| printer.expr(*arg));
            }
            Kind::List { elements, .. } => {
                self.items("[", syntax.exprs(elements), "]", |printer, element| printer.expr(*element));
            }
            Kind::Map(entries) => self.items("{", syntax.entries(entries), "}", Self::entry),
            Kind::Struct { name, fields } => {
                self.text(syntax.name(name));
                self.items("{", syntax.entries(fields), "}", Self::entry);
            }
            Kind::Comprehension(number) => self.comprehension(syntax.comprehension(number)),
        }
        self.text(&(self.note)(Item::Expr(expr)));
    }

    fn items<T>(&mut self, open: &str, items: &[T], close: &str, print: impl Fn(&mut Self, &T)) {
        self.text(open);
        self.indent += 1;
        for (place, item) in items.iter().enumerate() {
            self.text(if place > 0 { "," } else { "" });
            self.line();
            print(self, item);
        }
        self.indent -= 1;
        if !items.is_empty() {
            self.line();
        }
        self.text(close);
    }

    fn entry(&mut self, entry: &Entry) {
        self.text(if entry.optional { "?" } else { "" });
        match entry.key {
            Key::Expr(key) => self.expr(key),
            Key::Field(name) => self.text(self.syntax.name(name)),
        }
        self.text(":");
        self.expr(entry.value);
        self.text(&(self.note)(Item::Entry(entry)));
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        let syntax = self.syntax;
        self.text("__comprehension__(");
        self.indent += 1;
        self.line();
        self.text("// Variable");
        for name in [Some(comprehension.variable), comprehension.second].into_iter().flatten() {
            self.line();
            self.text(syntax.name(name));
            self.text(",");
        }
        self.section("// Target", comprehension.range, ",");
        self.line();
        self.text("// Accumulator");
        self.line();
        self.text(syntax.name(comprehension.accumulator));
        self.text(",");
        self.section("// Init", comprehension.init, ",");
        self.section("// LoopCondition", comprehension.condition, ",");
        self.section("// LoopStep", comprehension.step, ",");
        self.section("// Result", comprehension.result, ")");
        self.indent -= 1;
    }

    fn section(&mut self, title: &str, expr: Expr, end: &str) {
        self.line();
        self.text(title);
        self.line();
        self.expr(expr);
        self.text(end);
    }
}

fn literal(syntax: &Syntax, value: Literal) -> String {
    match value {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Uint(value) => format!("{value}u"),
        Literal::Double(value) => double(value),
        Literal::String(name) => quote(syntax.name(name)),
        Literal::Bytes(bytes) => format!("b{}", quote_bytes(syntax.bytes(bytes))),
    }
}

/// Formats a floating-point number like Go's `%v`: shortest digits, with an exponent below 1e-4 and from a
/// million.
pub fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e6).contains(&magnitude) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}
