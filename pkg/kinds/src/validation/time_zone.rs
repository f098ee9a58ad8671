//! Names of time zones in the IANA database, as in Go's `time.LoadLocation`.

/// Names in the database, one per line, sorted. They are from the release in Go 1.26, like those of
/// upstream's server.
const NAMES: &str = include_str!("time_zones.txt");

/// Returns Go's error for an unknown name. The empty name is UTC.
pub(crate) fn unknown_zone(name: &str) -> Option<String> {
    let climbs = name.split(['/', '\\']).any(|part| part == "..");
    match name {
        "" | "UTC" | "Local" => None,
        _ if climbs || name.starts_with(['/', '\\']) => Some("time: invalid location name".to_owned()),
        _ if NAMES.lines().any(|zone| zone == name) => None,
        _ => Some(format!("unknown time zone {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(unknown_zone(name).as_deref(), expected, "{name}");
    }

    #[test]
    fn zones_match_the_database() {
        for zone in
            ["", "UTC", "Local", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+12", "EST5EDT"]
        {
            check(zone, None);
        }
        check("Mars/City", Some("unknown time zone Mars/City"));
        check("europe/berlin", Some("unknown time zone europe/berlin"));
        check("Europe", Some("unknown time zone Europe"));
        check("/etc/localtime", Some("time: invalid location name"));
        check("a/../b", Some("time: invalid location name"));
    }
}
