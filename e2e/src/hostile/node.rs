//! Compact descriptions of large values, and their serialization in any format by the schema tables.

use schema::table::{Cardinality, Field, Message, Shape, Type};

/// A value or a repetition of values, of the type of its field.
#[derive(Debug, Clone)]
pub enum Node {
    /// The shortest value.
    Empty,
    Text(String),
    Number(i64),
    /// The boolean true.
    True,
    /// A short value that differs from its neighbours in a list or map.
    Ordinal,
    /// A distinct text with characters that are invalid in most places.
    Wrong,
    /// An object with these members.
    Struct(Vec<(&'static Field, Node)>),
    /// A list or map. Its keys are empty unless `distinct` is set.
    Many {
        /// Number of elements.
        count: usize,
        /// True if keys differ.
        distinct: bool,
        /// Template of the elements.
        element: Box<Node>,
    },
    /// Nested levels, for types that nest.
    Deep(usize),
}

/// Text or binary notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// JSON, which is YAML too.
    Json,
    Cbor,
}

/// Returns a type's member by name.
///
/// # Panics
/// There is none.
pub fn member(message: &Message, name: &str) -> &'static Field {
    message.member(name).unwrap_or_else(|| panic!("{} has no {name}", message.name))
}

/// Appends a value of a field in JSON or CBOR, as element `index` of its container.
pub fn write(notation: Notation, field: &Field, node: &Node, index: usize, out: &mut Vec<u8>) {
    match (field.cardinality, node) {
        (Cardinality::One, node) => value(notation, field.ty, node, index, out),
        (_, Node::Deep(_)) => value(notation, field.ty, node, 0, out),
        (cardinality, node) => {
            let single = Box::new(node.clone());
            let (count, distinct, element) = match node {
                Node::Many { count, distinct, element } => (*count, *distinct, element),
                _ => (1, true, &single),
            };
            let map = cardinality == Cardinality::Map;
            open(notation, map, count, out);
            let mut encoded = Vec::new();
            for index in 0..count {
                if index == 0 || distinct {
                    encoded.clear();
                    if map {
                        let key = if distinct { format!("k{index}") } else { String::new() };
                        text(notation, &key, &mut encoded);
                        colon(notation, &mut encoded);
                    }
                    value(notation, field.ty, element, index, &mut encoded);
                }
                comma(notation, index, out);
                out.extend_from_slice(&encoded);
            }
            close(notation, map, out);
        }
    }
}

/// Appends an object: its members, and its version and kind if given.
pub fn object(
    notation: Notation,
    head: Option<(&str, &str)>,
    members: &[(&'static Field, Node)],
    index: usize,
    out: &mut Vec<u8>,
) {
    let mut flat = Vec::new();
    flatten(members, &mut flat);
    open(notation, true, flat.len() + if head.is_some() { 2 } else { 0 }, out);
    let mut written = 0;
    for (name, text_of) in
        head.into_iter().flat_map(|(version, kind)| [("apiVersion", version), ("kind", kind)])
    {
        comma(notation, written, out);
        text(notation, name, out);
        colon(notation, out);
        text(notation, text_of, out);
        written += 1;
    }
    for (field, node) in flat {
        comma(notation, written, out);
        text(notation, field.name, out);
        colon(notation, out);
        write(notation, field, node, index, out);
        written += 1;
    }
    close(notation, true, out);
}

/// Moves members of inlined structs into the parent's object.
fn flatten<'n>(members: &'n [(&'static Field, Node)], flat: &mut Vec<(&'static Field, &'n Node)>) {
    for (field, node) in members {
        match node {
            Node::Struct(inner) if field.name.is_empty() => flatten(inner, flat),
            _ => flat.push((field, node)),
        }
    }
}

fn value(notation: Notation, ty: Type, node: &Node, index: usize, out: &mut Vec<u8>) {
    match node {
        Node::Text(content) => text(notation, content, out),
        Node::Wrong => text(notation, &wrong(index), out),
        Node::Number(content) => number(notation, *content, out),
        Node::True => out.extend_from_slice(if notation == Notation::Json { b"true" } else { b"\xf5" }),
        Node::Struct(members) => object(notation, None, members, index, out),
        Node::Deep(levels) => match notation {
            Notation::Json => {
                out.extend(std::iter::repeat_n(b'[', *levels));
                out.extend(std::iter::repeat_n(b']', *levels));
            }
            Notation::Cbor => {
                out.extend(std::iter::repeat_n(0x81, *levels));
                out.push(0x80);
            }
        },
        Node::Many { .. } => value(notation, ty, &Node::Empty, index, out),
        Node::Empty | Node::Ordinal => {
            simple(notation, ty, matches!(node, Node::Ordinal).then_some(index), out)
        }
    }
}

/// Appends the shortest value of a type, or one that contains a number.
fn simple(notation: Notation, ty: Type, index: Option<usize>, out: &mut Vec<u8>) {
    let label = index.map(|index| format!("n{index}")).unwrap_or_default();
    match ty {
        Type::String | Type::Any => text(notation, &label, out),
        Type::Bytes if notation == Notation::Json => text(notation, "", out),
        Type::Bytes => out.push(0x40),
        Type::Bool => out.extend_from_slice(if notation == Notation::Json { b"false" } else { b"\xf4" }),
        Type::Int32 | Type::Int64 | Type::Double => number(notation, index.unwrap_or(0) as i64, out),
        Type::Message(message) => match message.shape {
            Shape::Wrapper => {
                open(notation, false, 0, out);
                close(notation, false, out);
            }
            Shape::Quantity | Shape::Time | Shape::MicroTime | Shape::Duration | Shape::IntOrString => {
                text(notation, &label, out);
            }
            _ => {
                let named = index.and_then(|_| first_text(message));
                let members: Vec<_> = named.map(|field| (field, Node::Text(label))).into_iter().collect();
                object(notation, None, &members, 0, out);
            }
        },
    }
}

fn wrong(index: usize) -> String {
    format!("!A{index}")
}

fn first_text(message: &Message) -> Option<&'static Field> {
    let texts = |member: &&schema::table::Member| {
        matches!(member.field.ty, Type::String) && member.field.cardinality == Cardinality::One
    };
    let named = message.members.iter().filter(texts).find(|member| member.name == "name");
    named.or_else(|| message.members.iter().find(texts)).map(|member| member.field)
}

fn text(notation: Notation, content: &str, out: &mut Vec<u8>) {
    match notation {
        Notation::Json => {
            out.push(b'"');
            out.extend_from_slice(content.as_bytes());
            out.push(b'"');
        }
        Notation::Cbor => {
            cbor_head(0x60, content.len(), out);
            out.extend_from_slice(content.as_bytes());
        }
    }
}

fn number(notation: Notation, content: i64, out: &mut Vec<u8>) {
    match notation {
        Notation::Json => out.extend_from_slice(content.to_string().as_bytes()),
        Notation::Cbor if content < 0 => cbor_head(0x20, content.unsigned_abs() as usize - 1, out),
        Notation::Cbor => cbor_head(0, content as usize, out),
    }
}

fn open(notation: Notation, map: bool, count: usize, out: &mut Vec<u8>) {
    match notation {
        Notation::Json => out.push(if map { b'{' } else { b'[' }),
        Notation::Cbor => cbor_head(if map { 0xa0 } else { 0x80 }, count, out),
    }
}

fn close(notation: Notation, map: bool, out: &mut Vec<u8>) {
    if notation == Notation::Json {
        out.push(if map { b'}' } else { b']' });
    }
}

fn comma(notation: Notation, before: usize, out: &mut Vec<u8>) {
    if notation == Notation::Json && before > 0 {
        out.push(b',');
    }
}

fn colon(notation: Notation, out: &mut Vec<u8>) {
    if notation == Notation::Json {
        out.push(b':');
    }
}

/// Appends the head of an item: its major type and a length or number.
fn cbor_head(major: u8, count: usize, out: &mut Vec<u8>) {
    match count {
        0..24 => out.push(major | count as u8),
        24..0x100 => out.extend_from_slice(&[major | 24, count as u8]),
        0x100..0x1_0000 => {
            out.push(major | 25);
            out.extend_from_slice(&(count as u16).to_be_bytes());
        }
        _ => {
            out.push(major | 26);
            out.extend_from_slice(&(count as u32).to_be_bytes());
        }
    }
}

/// Appends a field as protobuf, as element `index` of its container.
pub fn wire(field: &Field, node: &Node, index: usize, out: &mut Vec<u8>) {
    let Node::Many { count, distinct, element } = node else {
        return wire_one(field, node, true, index, out);
    };
    let mut encoded = Vec::new();
    for index in 0..*count {
        if index == 0 || *distinct {
            encoded.clear();
            wire_one(field, element, *distinct, index, &mut encoded);
        }
        out.extend_from_slice(&encoded);
    }
}

fn wire_one(field: &Field, node: &Node, distinct: bool, index: usize, out: &mut Vec<u8>) {
    if let Node::Deep(levels) = node {
        return wire_deep(field, *levels, out);
    }
    let mut content = Vec::new();
    if field.cardinality == Cardinality::Map {
        if distinct {
            schema::proto::put_bytes(1, format!("k{index}").as_bytes(), &mut content);
            let mut value = Vec::new();
            wire_value(field.ty, node, index, &mut value);
            schema::proto::put_bytes(2, &value, &mut content);
        }
        varint(u64::from(field.number) << 3 | 2, out);
    } else {
        wire_value(field.ty, node, index, &mut content);
        varint(u64::from(field.tag), out);
        if field.tag & 7 != 2 {
            out.extend_from_slice(&content);
            return;
        }
    }
    varint(content.len() as u64, out);
    out.extend_from_slice(&content);
}

fn wire_value(ty: Type, node: &Node, index: usize, out: &mut Vec<u8>) {
    match (ty, node) {
        (Type::Message(_), Node::Struct(members)) => {
            for (field, node) in members {
                wire(field, node, index, out);
            }
        }
        (Type::Message(message), Node::Ordinal) => {
            let number = first_text(message).map_or(1, |field| field.number);
            let label = format!("n{index}");
            varint(u64::from(number) << 3 | 2, out);
            varint(label.len() as u64, out);
            out.extend_from_slice(label.as_bytes());
        }
        (Type::Message(_), Node::Wrong) => schema::proto::put_bytes(1, wrong(index).as_bytes(), out),
        (Type::String | Type::Bytes, Node::Wrong) => out.extend_from_slice(wrong(index).as_bytes()),
        (Type::Message(_), Node::Text(text)) => schema::proto::put_bytes(1, text.as_bytes(), out),
        (Type::String | Type::Bytes, Node::Text(text)) => out.extend_from_slice(text.as_bytes()),
        (Type::String | Type::Bytes, Node::Ordinal) => out.extend_from_slice(format!("n{index}").as_bytes()),
        (Type::Bool, node) => out.push(u8::from(matches!(node, Node::True))),
        (Type::Int32 | Type::Int64, Node::Number(number)) => varint(*number as u64, out),
        (Type::Int32 | Type::Int64, _) => varint(index as u64, out),
        (Type::Double, _) => out.extend_from_slice(&[0; 8]),
        _ => {}
    }
}

/// Appends a field nested in itself this many times.
fn wire_deep(field: &Field, levels: usize, out: &mut Vec<u8>) {
    let tag = u64::from(field.number) << 3 | 2;
    let mut lengths = vec![0_usize];
    for _ in 1..levels {
        let inner = lengths.last().copied().unwrap_or(0);
        lengths.push(varint_len(tag) + varint_len(inner as u64) + inner);
    }
    for length in lengths.iter().rev() {
        varint(tag, out);
        varint(*length as u64, out);
    }
}

fn varint_len(number: u64) -> usize {
    let mut bytes = Vec::new();
    varint(number, &mut bytes);
    bytes.len()
}

/// Appends a varint.
pub fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
