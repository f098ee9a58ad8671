//! Warnings about colliding files in a volume: `a` and `a/b`, or `a` twice. They apply to volumes from
//! objects: config maps, secrets and the like.

use super::collector::Warnings;
use api::tree::{child, children, list, text};
use apimachinery::go_quote::Quoted;
use jsontree::Value;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

/// Source of files; prints as `ConfigMap "name"` or `DownwardAPI`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source<'o> {
    kind: &'static str,
    name: Option<&'o str>,
}

impl Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{} {}", self.kind, Quoted(name)),
            None => f.write_str(self.kind),
        }
    }
}

/// File without trailing slashes. The source is set if the volume may have several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct File<'o> {
    path: &'o str,
    source: Option<Source<'o>>,
}

impl<'o> File<'o> {
    fn new(path: &'o str, source: Option<Source<'o>>) -> Self {
        File { path: path.trim_end_matches('/'), source }
    }
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(source) => write!(f, "{} ({source})", Quoted(self.path)),
            None => Quoted(self.path).fmt(f),
        }
    }
}

/// Warns about the volumes of a pod spec.
pub(super) fn overlaps(spec: &Object, out: &mut Warnings) {
    for volume in children(spec, "volumes") {
        let name = text(volume, "name");
        for (member, kind, reference) in SOURCES {
            let Some(object) = child(volume, member) else { continue };
            let source = Source { kind, name: reference.map(|member| text(object, member)) };
            let mut files = Files::new(name, source);
            for item in children(object, "items") {
                files.add(File::new(text(item, "path"), None), out);
            }
        }
        if let Some(projected) = child(volume, "projected") {
            overlaps_of_projected(name, projected, out);
        }
    }
}

/// Members of a volume with their kinds, and the members with the name of an object of that kind.
const SOURCES: [(&str, &str, Option<&str>); 3] = [
    ("configMap", "ConfigMap", Some("name")),
    ("secret", "Secret", Some("secretName")),
    ("downwardAPI", "DownwardAPI", None),
];

/// Warns about the sources of a projected volume. An empty source is `null` in the tree.
fn overlaps_of_projected(volume: &str, projected: &Object, out: &mut Warnings) {
    let mut files = Files::new(volume, Source { kind: "Projected", name: None });
    for source in list(projected, "sources") {
        match source.as_object().filter(|source| !source.values().all(Value::is_null)) {
            None => out.add(format_args!("volume {} (Projected) has no sources provided", Quoted(volume))),
            Some(source) => files_of(source).into_iter().for_each(|file| files.add(file, out)),
        }
    }
}

/// Returns the files of one source of a projected volume.
fn files_of(source: &Object) -> Vec<File<'_>> {
    for (member, kind) in [("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")] {
        let Some(object) = child(source, member) else { continue };
        let from = Source { kind, name: (kind != "DownwardAPI").then(|| text(object, "name")) };
        let files = children(object, "items").map(|item| File::new(text(item, "path"), Some(from)));
        return files.collect();
    }
    if let Some(token) = child(source, "serviceAccountToken") {
        let from = Source { kind: "ServiceAccountToken", name: None };
        return vec![File::new(text(token, "path"), Some(from))];
    }
    if let Some(bundle) = child(source, "clusterTrustBundle") {
        let name = bundle.get("name").and_then(Value::as_str).unwrap_or_else(|| text(bundle, "signerName"));
        let from = Source { kind: "ClusterTrustBundle", name: Some(name) };
        return vec![File::new(text(bundle, "path"), Some(from))];
    }
    let Some(certificate) = child(source, "podCertificate") else { return Vec::new() };
    [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ]
    .into_iter()
    .map(|(member, kind)| File::new(text(certificate, member), Some(Source { kind, name: None })))
    .collect()
}

/// Files of a volume so far, ordered so that files above and below a path are found without a full scan: a
/// volume may have thousands.
struct Files<'o> {
    volume: &'o str,
    description: Source<'o>,
    by_path: BTreeMap<&'o str, Vec<(usize, File<'o>)>>,
    /// Lengths of all paths, so that only path prefixes of these lengths are looked up.
    lengths: BTreeSet<usize>,
    count: usize,
}

impl<'o> Files<'o> {
    fn new(volume: &'o str, description: Source<'o>) -> Self {
        Files { volume, description, by_path: BTreeMap::new(), lengths: BTreeSet::new(), count: 0 }
    }

    /// Warns about collisions of a new file with earlier ones, and adds it. Identical files are stored once,
    /// because their warnings would be identical.
    fn add(&mut self, file: File<'o>, out: &mut Warnings) {
        if file.path.is_empty() || out.is_full() {
            return;
        }
        for other in self.collisions(file.path) {
            out.add(format_args!(
                "volume {} ({}): overlapping paths: {file} with {other}",
                Quoted(self.volume),
                self.description
            ));
        }
        let same_path = self.by_path.entry(file.path).or_default();
        if !same_path.iter().any(|(_, other)| *other == file) {
            same_path.push((self.count, file));
            self.lengths.insert(file.path.len());
            self.count += 1;
        }
    }

    /// Returns the files at, above and below a path, in insertion order.
    fn collisions(&self, path: &str) -> Vec<File<'o>> {
        let above =
            self.lengths.range(..path.len()).filter(|length| path.as_bytes().get(**length) == Some(&b'/'));
        let above = above.filter_map(|length| self.by_path.get(path.get(..*length)?));
        let below = format!("{path}/");
        let below = self.by_path.range(below.as_str()..).take_while(|(other, _)| other.starts_with(&below));
        let mut collisions: Vec<(usize, File<'o>)> = above
            .chain(self.by_path.get(path))
            .chain(below.map(|(_, files)| files))
            .flatten()
            .copied()
            .collect();
        collisions.sort_unstable();
        collisions.into_iter().map(|(_, file)| file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{created, object};
    use super::*;
    use jsontree::json;

    fn check(volume: Value, expected: &[&str]) {
        created("", "pods", json!({"metadata": {"name": "a"}, "spec": {"volumes": [volume]}}), expected);
    }

    fn items(paths: &[&str]) -> Value {
        paths.iter().map(|path| json!({"key": "k", "path": path})).collect()
    }

    #[test]
    fn colliding_files_warn() {
        check(
            json!({"name": "v", "configMap": {"name": "m", "items": items(&["b/c/d", "a", "ab", "a/", "b", "b/c"])}}),
            &[
                "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"a\" with \"a\"",
                "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"b\" with \"b/c/d\"",
                "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"b/c\" with \"b/c/d\"",
                "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"b/c\" with \"b\"",
            ],
        );
        check(json!({"name": "v", "configMap": {"name": "m", "items": items(&["a", "ab", "", "a.b"])}}), &[]);
        check(
            json!({"name": "v", "secret": {"secretName": "s", "items": items(&["a", "a"])}}),
            &["volume \"v\" (Secret \"s\"): overlapping paths: \"a\" with \"a\""],
        );
        check(
            json!({"name": "v", "downwardAPI": {"items": items(&["a", "a"])}}),
            &["volume \"v\" (DownwardAPI): overlapping paths: \"a\" with \"a\""],
        );
    }

    #[test]
    fn sources_of_a_projected_volume_share_it() {
        let sources = json!([
            {"configMap": {"name": "m", "items": items(&["a", "b"])}},
            {"secret": {"name": "s", "items": items(&["a"])}},
            {"downwardAPI": {"items": items(&["a/x"])}},
            {"serviceAccountToken": {"path": "b"}},
            {"clusterTrustBundle": {"signerName": "example.com/s", "path": "b"}},
            {"podCertificate": {"keyPath": "k", "credentialBundlePath": "k"}},
        ]);
        let volume = json!({"name": "v", "projected": {"sources": sources}});
        let expected = [
            "\"a\" (Secret \"s\") with \"a\" (ConfigMap \"m\")",
            "\"a/x\" (DownwardAPI) with \"a\" (ConfigMap \"m\")",
            "\"a/x\" (DownwardAPI) with \"a\" (Secret \"s\")",
            "\"b\" (ServiceAccountToken) with \"b\" (ConfigMap \"m\")",
            "\"b\" (ClusterTrustBundle \"example.com/s\") with \"b\" (ConfigMap \"m\")",
            "\"b\" (ClusterTrustBundle \"example.com/s\") with \"b\" (ServiceAccountToken)",
            "\"k\" (PodCertificate credential bundle) with \"k\" (PodCertificate key)",
        ];
        let expected = expected.map(|text| format!("volume \"v\" (Projected): overlapping paths: {text}"));
        check(volume, &expected.each_ref().map(String::as_str));
    }

    #[test]
    fn a_projected_volume_needs_sources() {
        let empty = "volume \"v\" (Projected) has no sources provided";
        check(json!({"name": "v", "projected": {"sources": [null]}}), &[empty]);
        check(json!({"name": "v", "projected": {"sources": [{}]}}), &[empty]);
        check(json!({"name": "v", "projected": {"sources": [{"configMap": {}}]}}), &[]);
    }

    #[test]
    fn many_files_are_checked_quickly() {
        let paths: Vec<String> = (0..50_000).map(|number| format!("d/{}", number % 2)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let volume = json!({"name": "v", "secret": {"items": items(&paths)}});
        let mut out = Warnings::default();
        overlaps(&object(json!({"volumes": [volume]})), &mut out);
        assert_eq!(out.into_texts().len(), 2);
    }
}
