//! Names that must fit into one segment of a URL path or storage key.

/// Checks a whole name. Neither emptiness nor length is checked, as upstream.
pub fn is_path_segment_name(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => is_path_segment_prefix(name),
    }
}

/// Checks the beginning of a name: `.` alone may still become a good one.
pub fn is_path_segment_prefix(name: &str) -> Vec<String> {
    let bad = ["/", "%"].into_iter().filter(|text| name.contains(text));
    bad.map(|text| format!("may not contain '{text}'")).collect()
}
