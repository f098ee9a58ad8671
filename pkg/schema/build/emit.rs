//! Writes the tables as Rust source: one static per type, referring to each other by address.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::names::{NO_MEMBER, Word, slot};
use crate::parse::{Field, Type};

type Types<'a> = BTreeMap<&'a str, &'a Type>;

/// The whole generated module.
pub(crate) fn tables(types: &[Type]) -> String {
    let by_name: Types = types.iter().map(|t| (t.name.as_str(), t)).collect();
    assert_eq!(by_name.len(), types.len(), "type names are unique");
    let verbatim = verbatim(&by_name);
    let mut out = String::new();
    for ty in by_name.values() {
        message(&mut out, ty, &by_name, &verbatim);
    }
    let _ =
        writeln!(out, "/// Every type, sorted by name.\npub static ALL: [&Message; {}] = [", by_name.len());
    for name in by_name.keys() {
        let _ = writeln!(out, "    &{},", ident(name));
    }
    out.push_str("];\n");
    kinds(&mut out, &by_name);
    out
}

/// The index of registered kinds.
fn kinds(out: &mut String, types: &Types) {
    let mut kinds: Vec<(&str, &str, &str)> = types
        .values()
        .flat_map(|t| t.attributes.list("kinds").into_iter().map(|k| (k, t.name.as_str())))
        .filter_map(|(k, name)| k.rsplit_once('/').map(|(version, kind)| (version, kind, name)))
        .collect();
    kinds.sort_unstable();
    let _ = writeln!(
        out,
        "/// Registered kinds: apiVersion (`*` for every group version), kind, type. Sorted.\n\
         pub static KINDS: [(&str, &str, &Message); {}] = [",
        kinds.len()
    );
    for (version, kind, name) in kinds {
        let _ = writeln!(out, "    ({version:?}, {kind:?}, &{}),", ident(name));
    }
    out.push_str("];\n");
}

/// `io.k8s.api.core.v1.Pod` → `IO_K8S_API_CORE_V1_POD`. This is unique because no two types of a package
/// differ only in case.
fn ident(name: &str) -> String {
    name.replace(['.', '-'], "_").to_uppercase()
}

/// A type's fields are a separate static, because a static must not refer to itself and `members` points to
/// the fields.
fn message(out: &mut String, ty: &Type, types: &Types, verbatim: &BTreeSet<&str>) {
    let a = &ty.attributes;
    let shape = if a.has("shape") { shape(a.get("shape")) } else { "Struct" };
    let mut parts = ty.name.rsplit('.');
    let short = parts.next().unwrap_or("");
    let package = parts.next().unwrap_or("");
    let id = ident(&ty.name);
    let fields: String = ty.fields.iter().map(|f| field(f, ty, types)).collect();
    let _ = write!(
        out,
        "static {id}_FIELDS: [Field; {count}] = [{fields}];\n\
         /// `{name}`.\npub static {id}: Message = Message {{ name: {name:?}, wire_name: {wire:?}, go_name: {go:?}, \
         shape: Shape::{shape}, type_meta: {meta}, open: false, fields: &{id}_FIELDS, wire_order: &{order:?}, by_number: &{numbers:?}, \
         members: &[{members}], names: {names}, info: &MessageInfo {{ kinds: &{kinds:?}, unregistered: {unregistered}, no_openapi: {no}, map_type: {map:?}, unions: {unions:?}, verbatim: {verbatim} }} }};\n",
        count = ty.fields.len(),
        name = ty.name,
        wire = ty.wire_name,
        go = format!("{package}.{short}"),
        meta = a.has("typemeta"),
        order = wire_order(ty),
        numbers = by_number(ty),
        members = members(ty, types),
        names = names(ty, types),
        kinds = a.list("kinds"),
        unregistered = a.has("unregistered"),
        no = a.has("noopenapi"),
        map = a.get("map"),
        unions = a.get("unions"),
        verbatim = verbatim.contains(ty.name.as_str()),
    );
}

/// The types with verbatim JSON or values of any type, directly or in a field. Managed fields do not count.
fn verbatim<'a>(types: &Types<'a>) -> BTreeSet<&'a str> {
    let is_raw = |ty: &Type| matches!(ty.attributes.get("shape"), "RawExtension" | "JSON" | "Unknown");
    let mut found: BTreeSet<&str> =
        types.iter().filter(|(_, ty)| is_raw(ty)).map(|(name, _)| *name).collect();
    found.insert("any");
    loop {
        let holds = |ty: &Type| ty.fields.iter().any(|field| found.contains(field.base.as_str()));
        let more: Vec<&str> = types
            .iter()
            .filter(|(name, ty)| !found.contains(*name) && holds(ty))
            .map(|(name, _)| *name)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

fn shape(name: &str) -> &str {
    match name {
        "JSON" => "Json",
        "JSONSchemaPropsOrArray" => "SchemaOrArray",
        "JSONSchemaPropsOrBool" => "SchemaOrBool",
        "JSONSchemaPropsOrStringArray" => "SchemaOrStringArray",
        other => other,
    }
}

fn wire_order(ty: &Type) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ty.fields.len()).filter(|&i| ty.fields[i].number > 0).collect();
    order.sort_by_key(|&i| ty.fields[i].number);
    order
}

fn by_number(ty: &Type) -> Vec<usize> {
    let max = ty.fields.iter().map(|f| f.number as usize).max().unwrap_or(0);
    let mut numbers = vec![0; max + 1];
    for (at, field) in ty.fields.iter().enumerate().filter(|(_, f)| f.number > 0) {
        numbers[field.number as usize] = at + 1;
    }
    numbers
}

/// The JSON members by name. As in Go, a member of the outer struct hides a member of an inlined struct.
fn members(ty: &Type, types: &Types) -> String {
    let mut members = BTreeMap::new();
    gather(ty, types, &mut members);
    let mut out = String::new();
    for (name, (owner, at)) in members {
        let _ = write!(out, "Member::new({name:?}, &{}_FIELDS[{at}]),", ident(owner));
    }
    out
}

/// A perfect hash of the member names: searches for a multiplier without collisions.
fn names(ty: &Type, types: &Types) -> String {
    let mut members = BTreeMap::new();
    gather(ty, types, &mut members);
    assert!(members.len() < usize::from(NO_MEMBER), "{}: an index fits into a byte", ty.name);
    let mut bits = (members.len() * 2).next_power_of_two().ilog2().max(1);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for attempt in 1.. {
        // More slots make collisions less likely.
        if attempt % 4096 == 0 {
            bits += 1;
        }
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let multiplier = random | 1;
        let shift = 64 - bits;
        let mut slots = vec![NO_MEMBER; 1 << bits];
        let unique = members.keys().enumerate().all(|(at, name)| {
            let slot = &mut slots[slot(Word::of(name.as_bytes()), multiplier, shift)];
            std::mem::replace(slot, u8::try_from(at).unwrap_or(NO_MEMBER)) == NO_MEMBER
        });
        if unique {
            return format!("Names {{ multiplier: {multiplier}, shift: {shift}, slots: &{slots:?} }}");
        }
        assert!(bits < 16, "{}: two members have one digest", ty.name);
    }
    String::new()
}

fn gather<'a>(ty: &'a Type, types: &Types<'a>, members: &mut BTreeMap<&'a str, (&'a str, usize)>) {
    if ty.attributes.has("shape") {
        return;
    }
    for (at, field) in ty.fields.iter().enumerate().filter(|(_, f)| f.name != "inline") {
        members.entry(&field.name).or_insert((&ty.name, at));
    }
    for field in ty.fields.iter().filter(|f| f.name == "inline") {
        if let Some(inner) = types.get(field.base.as_str()) {
            gather(inner, types, members);
        }
    }
}

fn field(f: &Field, owner: &Type, types: &Types) -> String {
    let a = &f.attributes;
    let name = if f.name == "inline" { "" } else { &f.name };
    let wire_type = match (f.list, f.map, f.base.as_str()) {
        (_, true, _) => 2,
        (_, _, "bool" | "int32" | "int64") => 0,
        (_, _, "double") => 1,
        _ => 2,
    };
    let ty = match f.base.as_str() {
        "string" => "Type::String".to_owned(),
        "bytes" => "Type::Bytes".to_owned(),
        "bool" => "Type::Bool".to_owned(),
        "int32" => "Type::Int32".to_owned(),
        "int64" => "Type::Int64".to_owned(),
        "double" => "Type::Double".to_owned(),
        "any" => "Type::Any".to_owned(),
        other => {
            assert!(types.contains_key(other), "{}.{}: unknown type {other}", owner.name, f.name);
            format!("Type::Message(&{})", ident(other))
        }
    };
    let cardinality = if f.map {
        "Map"
    } else if f.list {
        "List"
    } else {
        "One"
    };
    let list = a.list("list");
    let (list_type, list_keys) = list.split_first().map_or(("", &[][..]), |(t, keys)| (*t, keys));
    format!(
        "Field {{ name: {name:?}, key: {key:?}, member: Key::const_new({name:?}), number: {number}, tag: {tag}, ty: {ty}, cardinality: Cardinality::{cardinality}, \
         pointer: {pointer}, omit_empty: {oe}, omit_zero: {oz}, info: &FieldInfo {{ go_type: {go:?}, required: {req}, default: {default:?}, \
         enum_values: &{enums:?}, item_enum_values: &{item_enums:?}, item_default: {item_default:?}, minimum: {min:?}, maximum: {max:?}, \
         validations: {cel:?}, patch_strategy: {patch:?}, patch_merge_key: {key_field:?}, list_type: {list_type:?}, \
         list_map_keys: &{list_keys:?}, map_type: {map_type:?}, item_head: {item_head} }} }},",
        key = format!("\"{name}\":"),
        number = f.number,
        tag = f.number << 3 | wire_type,
        pointer = f.pointer,
        oe = a.has("omitempty"),
        oz = a.has("omitzero"),
        go = a.get("go"),
        req = a.has("required"),
        default = default(f, types),
        enums = a.list("enum"),
        item_enums = a.list("itemenum"),
        item_default = a.get("itemdefault"),
        min = a.get("min"),
        max = a.get("max"),
        cel = a.get("cel"),
        patch = a.get("patch"),
        key_field = a.get("mergekey"),
        map_type = a.get("map"),
        item_head = item_head(a.get("itemkind")),
    )
}

fn item_head(kind: &str) -> String {
    match kind.rsplit_once('/') {
        Some((version, kind)) => {
            format!("Some(crate::proto::TypeMetaHead {{ api_version: {version:?}, kind: {kind:?} }})")
        }
        None => "None".to_owned(),
    }
}

/// The OpenAPI default: the explicit one, or the derived one according to `proto/README.md`.
fn default(f: &Field, types: &Types) -> String {
    let a = &f.attributes;
    if a.has("default") {
        return a.get("default").to_owned();
    }
    if a.has("nodefault") || f.name == "inline" || f.pointer || f.list || f.map {
        return String::new();
    }
    let derived = match types.get(f.base.as_str()) {
        Some(inner) if inner.attributes.has("shape") && inner.attributes.get("shape") != "Wrapper" => "",
        Some(_) => "{}",
        None if a.has("omitempty") => "",
        None => match f.base.as_str() {
            "string" => "\"\"",
            "bool" => "false",
            "int32" | "int64" => "0",
            _ => "",
        },
    };
    derived.to_owned()
}
