//! IDL parser. The grammar is in `proto/README.md`; an invalid file fails the build.

/// Attributes in source order: name and the text in parentheses.
#[derive(Default)]
pub(crate) struct Attributes(Vec<(String, String)>);

impl Attributes {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// The attribute's text; empty if it is absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }

    /// The attribute's text split at commas; an item may be empty (`enum(,A)`).
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let text = self.get(name);
        if text.is_empty() { Vec::new() } else { text.split(',').collect() }
    }
}

pub(crate) struct Type {
    /// OpenAPI definition name.
    pub(crate) name: String,
    /// Protobuf name, empty for none.
    pub(crate) wire_name: String,
    pub(crate) attributes: Attributes,
    /// Fields in JSON order.
    pub(crate) fields: Vec<Field>,
}

pub(crate) struct Field {
    /// JSON name, or `inline`.
    pub(crate) name: String,
    /// Field number, 0 for none.
    pub(crate) number: u32,
    pub(crate) pointer: bool,
    pub(crate) list: bool,
    pub(crate) map: bool,
    /// Scalar name or full type name.
    pub(crate) base: String,
    pub(crate) attributes: Attributes,
}

const SCALARS: [&str; 7] = ["string", "bytes", "bool", "int32", "int64", "double", "any"];

/// Reads one file and appends its types.
pub(crate) fn file(path: &str, text: &str, types: &mut Vec<Type>) {
    let mut package = String::new();
    let mut wire = String::new();
    let mut open: Option<Type> = None;
    for (number, line) in text.lines().enumerate() {
        let fail = |message: &str| -> ! { panic!("{path}:{}: {message}: {line}", number + 1) };
        let words = words(line.trim()).unwrap_or_else(|| fail("unbalanced parentheses"));
        let heads: Vec<&str> = words.iter().map(|(n, _)| n.as_str()).collect();
        match heads.as_slice() {
            [] => {}
            ["package", name] => package = (*name).to_owned(),
            ["wire", name] => wire = (*name).to_owned(),
            ["type", name, .., "{"] => {
                let attributes = Attributes(words[2..words.len() - 1].to_vec());
                let wire_name = match (attributes.has("nowire"), attributes.get("wire")) {
                    (true, _) => String::new(),
                    (false, "") => format!("{wire}.{name}"),
                    (false, other) => other.to_owned(),
                };
                open = Some(Type {
                    name: format!("{package}.{name}"),
                    wire_name,
                    attributes,
                    fields: Vec::new(),
                });
            }
            ["}"] => types.push(open.take().unwrap_or_else(|| fail("no type is open"))),
            [name, number, ty, ..] => {
                let field = field(name, number, ty, words[3..].to_vec(), &package);
                match open.as_mut() {
                    Some(open) => open.fields.push(field),
                    None => fail("a field outside a type"),
                }
            }
            _ => fail("not understood"),
        }
    }
    assert!(open.is_none(), "{path}: a type is not closed");
}

fn field(name: &str, number: &str, ty: &str, attributes: Vec<(String, String)>, package: &str) -> Field {
    let number = if number == "-" { 0 } else { number.parse().expect("a field number or -") };
    let mut base = ty;
    let mut take = |prefix: &str| match base.strip_prefix(prefix) {
        Some(rest) => {
            base = rest;
            true
        }
        None => false,
    };
    let list = take("[]");
    let map = take("map[string]");
    let pointer = take("*");
    let base = if SCALARS.contains(&base) || base.contains('.') {
        base.to_owned()
    } else {
        format!("{package}.{base}")
    };
    Field { name: name.to_owned(), number, pointer, list, map, base, attributes: Attributes(attributes) }
}

/// Splits a line at spaces outside parentheses; `a(b)` becomes `("a", "b")`. A `#` outside parentheses starts
/// a comment. `None` if parentheses do not match.
fn words(line: &str) -> Option<Vec<(String, String)>> {
    let mut out = Vec::new();
    let mut rest = line;
    while !rest.is_empty() && !rest.starts_with('#') {
        let end = rest.find([' ', '(']).unwrap_or(rest.len());
        let head = rest[..end].to_owned();
        rest = &rest[end..];
        let mut value = String::new();
        if rest.starts_with('(') {
            let close = closing(rest)?;
            value = rest[1..close].to_owned();
            rest = &rest[close + 1..];
        }
        out.push((head, value));
        rest = rest.trim_start();
    }
    Some(out)
}

/// The index of the parenthesis that closes the one at 0. Quoted text is skipped.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
