//! Names that must be valid as one segment of a URL path or storage key.

/// Checks a whole name. As in upstream, empty and long names are accepted.
pub fn is_path_segment_name(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => is_path_segment_prefix(name),
    }
}

/// Checks a name prefix: `.` alone may still become a valid name.
pub fn is_path_segment_prefix(name: &str) -> Vec<String> {
    let bad = ["/", "%"].into_iter().filter(|text| name.contains(text));
    bad.map(|text| format!("may not contain '{text}'")).collect()
}
