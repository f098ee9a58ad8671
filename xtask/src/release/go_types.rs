//! Go's names of field types, read from the API modules. Errors of decoders contain them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Go types of fields by package, struct and JSON name.
pub(crate) struct GoTypes {
    /// The directory with the modules, as `<module>@v0.37.2`.
    modules: PathBuf,
    fields: BTreeMap<(String, String, String), String>,
}

impl GoTypes {
    /// Reads the structs of packages.
    ///
    /// # Errors
    /// The directory has no module of the release (`1.37`).
    pub(crate) fn read<'p>(
        directory: &str,
        release: &str,
        packages: impl Iterator<Item = &'p str>,
    ) -> Result<Self, Error> {
        let mut types = Self { modules: PathBuf::from(directory), fields: BTreeMap::new() };
        let minor = release.trim_start_matches("1.").to_owned();
        types.module("api", &minor).ok_or_else(|| Error::MissingInput {
            name: "GO_MODULES",
            path: format!("{directory}/api@v0.{minor}.*"),
        })?;
        for package in packages {
            types.package(package, &minor)?;
        }
        Ok(types)
    }

    /// Returns the directory of a module, in its newest patch release.
    fn module(&self, name: &str, minor: &str) -> Option<PathBuf> {
        let prefix = format!("{name}@v0.{minor}.");
        let entries = std::fs::read_dir(&self.modules).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let patch = names.filter_map(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok()).max()?;
        Some(self.modules.join(format!("{prefix}{patch}")))
    }

    /// Reads a package, as `io.k8s.api.core.v1`. A package without a module is skipped.
    fn package(&mut self, package: &str, minor: &str) -> Result<(), Error> {
        let Some(path) = package.strip_prefix("io.k8s.") else { return Ok(()) };
        let (module, rest) = path.split_once('.').unwrap_or((path, ""));
        let Some(module) = self.module(module, minor) else { return Ok(()) };
        let directory = module.join(rest.replace('.', "/"));
        for file in go_files(&directory)? {
            let path = file.display().to_string();
            let text = std::fs::read_to_string(&file).map_err(Error::of(path))?;
            self.structs(package, &text);
        }
        Ok(())
    }

    fn structs(&mut self, package: &str, text: &str) {
        let version = package.rsplit('.').next().unwrap_or_default();
        let names = Names { package: version, imports: imports(text), aliases: aliases(text) };
        let mut open: Option<&str> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("type ") {
                open = rest.strip_suffix(" struct {");
            } else if line == "}" {
                open = None;
            } else if let (Some(name), Some((ty, member))) = (open, struct_field(line)) {
                let key = (package.to_owned(), name.to_owned(), member.to_owned());
                self.fields.insert(key, names.qualified(ty));
            }
        }
    }

    /// Returns the text of the attribute `go`, unless the name follows from the IDL type.
    pub(crate) fn attribute(&self, package: &str, owner: &str, member: &str, ty: &str) -> Option<String> {
        let key = (package.to_owned(), owner.to_owned(), member.to_owned());
        let go = self.fields.get(&key)?.trim_start_matches('*');
        let idl = ty.replace('*', "");
        let base = idl.trim_start_matches("[]").trim_start_matches("map[string]");
        let prefix = &idl[..idl.len() - base.len()];
        let mut words = base.rsplit('.');
        let short = words.next().unwrap_or_default();
        let of = words.next().unwrap_or_else(|| package.rsplit('.').next().unwrap_or_default());
        let derived = match base {
            "string" | "bool" | "int32" | "int64" => base.to_owned(),
            "bytes" => "[]uint8".to_owned(),
            "double" => "float64".to_owned(),
            "any" => return None,
            _ => format!("{of}.{short}"),
        };
        (go.replace('*', "") != format!("{prefix}{derived}")).then(|| go.to_owned())
    }
}

fn go_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".go") && !name.ends_with("_test.go") && !name.contains("generated")
    });
    files.sort();
    Ok(files)
}

/// Returns the imported packages by the name that the file gives them.
fn imports(text: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for line in text.lines().map(str::trim).take_while(|line| !line.starts_with("type ")) {
        let line = line.strip_prefix("import ").unwrap_or(line);
        let Some((alias, path)) = line.strip_suffix('"').and_then(|line| line.split_once('"')) else {
            continue;
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        let alias = alias.trim();
        found.insert(if alias.is_empty() { name } else { alias }, name);
    }
    found
}

/// Returns the type and the JSON name of a struct field.
fn struct_field(line: &str) -> Option<(&str, &str)> {
    let tag = line.split_once("`")?.1;
    let member = tag.split_once("json:\"")?.1.split(['"', ',']).next()?;
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let ty = words.next().filter(|ty| !ty.starts_with('`'))?;
    (!name.starts_with("//") && !member.is_empty()).then_some((ty, member))
}

/// Returns the targets of the file's type aliases (`type A = other.B`). Reflection reports these.
fn aliases(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("type ")?.split_once(" = ")).collect()
}

/// The names that a Go file can use.
struct Names<'t> {
    /// Name of the file's own package.
    package: &'t str,
    imports: BTreeMap<&'t str, &'t str>,
    aliases: BTreeMap<&'t str, &'t str>,
}

impl Names<'_> {
    /// Writes a type as reflection does: each name with its package.
    fn qualified(&self, ty: &str) -> String {
        let start = ty.rfind(['*', ']']).map_or(0, |at| at + 1);
        let prefix = match ty[..start].split_once("map[") {
            Some((before, after)) => {
                let (key, rest) = after.split_once(']').unwrap_or((after, ""));
                format!("{before}map[{}]{rest}", self.qualified(key))
            }
            None => ty[..start].to_owned(),
        };
        let name = &ty[start..];
        let base = self.aliases.get(name).copied().unwrap_or(name);
        let base = match base.split_once('.') {
            Some((alias, name)) => format!("{}.{name}", self.imports.get(alias).unwrap_or(&alias)),
            None if base.starts_with(char::is_uppercase) => format!("{}.{base}", self.package),
            None if base == "byte" => "uint8".to_owned(),
            None => base.to_owned(),
        };
        format!("{prefix}{base}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
import (
\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"
\t\"k8s.io/apimachinery/pkg/types\"
)

type Pod struct {
\tUID types.UID `json:\"uid,omitempty\"`
\tPhase *PodPhase `json:\"phase,omitempty\"`
\tName string `json:\"name\"`
\tTime metav1.Time `json:\"time\"`
\tLimits map[ResourceName]string `json:\"limits\"`
}
";

    #[test]
    fn only_named_types_need_the_attribute() {
        let mut types = GoTypes { modules: PathBuf::new(), fields: BTreeMap::new() };
        types.structs("io.k8s.api.core.v1", SOURCE);
        let attribute = |member: &str, ty: &str| types.attribute("io.k8s.api.core.v1", "Pod", member, ty);
        assert_eq!(attribute("uid", "string").as_deref(), Some("types.UID"));
        assert_eq!(attribute("phase", "*string").as_deref(), Some("v1.PodPhase"));
        assert_eq!(attribute("name", "string"), None);
        assert_eq!(attribute("time", "io.k8s.apimachinery.pkg.apis.meta.v1.Time"), None);
        assert_eq!(attribute("limits", "map[string]string").as_deref(), Some("map[v1.ResourceName]string"));
    }
}
