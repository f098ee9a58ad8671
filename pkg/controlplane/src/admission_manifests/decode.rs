//! Decodes manifest objects strictly, sets their defaults, and validates them like the API (upstream's
//! `pkg/admission/plugin/*/manifest/loader`, apiserver `pkg/admission/plugin/*/manifest/loader`).

use std::collections::BTreeMap;
use std::path::Path;

use ::api::resources;
use ::kinds::validation::kinds::{STATIC_SUFFIX, Settings, ValidationContext, validate_manifest};
use apimachinery::field;
use apimachinery::go_quote::{Quoted, quote};
use component_base::features::Gates;
use jsontree::Value;
use schema::json::{self, errors};
use schema::object::{Object, get_str};
use schema::yaml;

use super::files::Document;
use crate::error::ConfigurationError;

const GROUP: &str = "admissionregistration.k8s.io";
/// Maximum nesting of lists. Upstream has no limit.
const LISTS_MAX: usize = 16;

/// Allowed contents of a directory.
pub(crate) struct ManifestSpec {
    /// The kinds with their plurals.
    pub(super) kinds: &'static [(&'static str, &'static str)],
    /// Name of upstream's scheme for manifests, for errors.
    pub(super) scheme: &'static str,
    /// Additional check of a manifest object, with its kind and path.
    pub(super) check: fn(kind: &str, object: &Object, path: &Path) -> Result<(), ConfigurationError>,
}

/// `apiVersion`, kind, and the object.
type Decoded = (String, String, Object);

/// Objects by kind and name.
pub(super) type Objects = BTreeMap<&'static str, BTreeMap<String, Object>>;

/// Reader of objects from documents.
pub(super) struct Reader<'w> {
    spec: &'w ManifestSpec,
    gates: Gates,
    objects: Objects,
    /// File of each object name.
    files_by_name: BTreeMap<(&'static str, String), String>,
}

impl<'w> Reader<'w> {
    /// Reads all documents.
    ///
    /// # Errors
    /// Upstream's message about the first invalid one.
    pub(super) fn read(
        spec: &'w ManifestSpec,
        documents: &[Document],
        gates: Gates,
    ) -> Result<Objects, ConfigurationError> {
        let mut reader = Reader { spec, gates, objects: Objects::new(), files_by_name: BTreeMap::new() };
        for document in documents {
            let path = document.path.as_path();
            let read = reader.decode(&document.text).and_then(|decoded| reader.object(decoded, path, 0));
            read.map_err(|error| error.within(format!("error loading {}", path.display())))?;
        }
        Ok(reader.objects)
    }

    fn object(&mut self, decoded: Decoded, path: &Path, depth: usize) -> Result<(), ConfigurationError> {
        let (api_version, kind, object) = decoded;
        if (api_version.as_str(), kind.as_str()) == ("v1", "List") {
            if depth >= LISTS_MAX {
                return Err(ConfigurationError::Invalid(format!(
                    "more than {LISTS_MAX} lists in each other"
                )));
            }
            for item in items(&object) {
                // Embedded objects of any kind are stored as their original text.
                let text = item.as_str().map(str::as_bytes).unwrap_or_default();
                let decoded =
                    self.decode(text).map_err(|error| error.within("failed to decode list item"))?;
                self.object(decoded, path, depth + 1)?;
            }
            return Ok(());
        }
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let unsupported =
            || ConfigurationError::Invalid(format!("unsupported resource type *{version}.{kind}"));
        if api_version != format!("{GROUP}/v1") {
            return Err(unsupported());
        }
        let single = |entry: &&(&str, &str)| entry.0 == kind;
        if let Some(&(kind, plural)) = self.spec.kinds.iter().find(single) {
            return self.accept(kind, plural, vec![object], path);
        }
        let listed = |entry: &&(&str, &str)| kind.strip_suffix("List") == Some(entry.0);
        let Some(&(kind, plural)) = self.spec.kinds.iter().find(listed) else { return Err(unsupported()) };
        let objects = items(&object).iter().filter_map(Value::as_object).cloned().collect();
        self.accept(kind, plural, objects, path)
    }

    /// Adds an object of a kind.
    fn accept(
        &mut self,
        kind: &'static str,
        plural: &str,
        mut objects: Vec<Object>,
        path: &Path,
    ) -> Result<(), ConfigurationError> {
        let row = resources::find(GROUP, "v1", plural, "")
            .ok_or_else(|| ConfigurationError::Invalid(format!("{plural} are not served")))?;
        let settings = Settings { gates: self.gates, ..Settings::default() };
        let context = ValidationContext { settings, ..ValidationContext::default() };
        for object in &mut objects {
            ::kinds::defaults::apply(row.group_version, kind, object, &self.gates);
            let errors = validate_manifest(row, object, &context);
            if let Some(errors) = field::aggregate(errors.iter()) {
                return Err(ConfigurationError::Invalid(format!(
                    "{kind} {}: {errors}",
                    quote(name_of(object))
                )));
            }
        }
        for object in objects {
            let name = self.name(kind, &object, path)?;
            (self.spec.check)(kind, &object, path)?;
            self.objects.entry(kind).or_default().insert(name, object);
        }
        Ok(())
    }

    /// Returns the name of an object if it is valid and unique.
    fn name(
        &mut self,
        kind: &'static str,
        object: &Object,
        path: &Path,
    ) -> Result<String, ConfigurationError> {
        let name = name_of(object);
        let path = path.display().to_string();
        let file = Quoted(&path);
        if name.is_empty() {
            return Err(ConfigurationError::Invalid(format!("resource in file {file} must have a name")));
        }
        if !name.ends_with(STATIC_SUFFIX) {
            let suffix = Quoted(STATIC_SUFFIX);
            return Err(ConfigurationError::Invalid(format!(
                "{} in file {file} must have a name ending with {suffix}",
                Quoted(name)
            )));
        }
        if let Some(before) = self.files_by_name.insert((kind, name.to_owned()), path.clone()) {
            let name = Quoted(name);
            let before = Quoted(&before);
            return Err(ConfigurationError::Invalid(format!(
                "duplicate name {name} found in file {file} (previously seen in {before})"
            )));
        }
        Ok(name.to_owned())
    }

    /// Decodes a text by its own `apiVersion` and kind.
    fn decode(&self, text: &[u8]) -> Result<Decoded, ConfigurationError> {
        let is_json = text.trim_ascii_start().first() == Some(&b'{') && json::decode_untyped(text).is_ok();
        let converted = if is_json { None } else { Some(yaml::to_json(text)?) };
        let duplicates = converted.as_ref().and_then(|yaml| Some(yaml.strict_error()?.to_string()));
        let json = converted.as_ref().map_or(text, |yaml| &yaml.json);
        let head = json::type_meta(json)?;
        let api_version = head.api_version.into_owned();
        let kind = head.kind.into_owned();
        for (field, value) in [("Kind", &kind), ("apiVersion", &api_version)] {
            if value.is_empty() {
                let shown = String::from_utf8_lossy(text);
                return Err(ConfigurationError::Invalid(format!("Object '{field}' is missing in '{shown}'")));
            }
        }
        let of_group = api_version.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
        let message = schema::builtin::kind(&api_version, &kind)
            .filter(|_| of_group || (api_version == "v1" && matches!(&*kind, "List" | "Status")))
            .ok_or_else(|| {
                ConfigurationError::Invalid(errors::not_registered(&kind, &api_version, self.spec.scheme))
            })?;
        let decoded = json::decode(message, json)?;
        let strict: Vec<String> =
            duplicates.into_iter().chain(decoded.strict.iter().map(ToString::to_string)).collect();
        if !strict.is_empty() {
            return Err(ConfigurationError::Invalid(errors::strict_decoding_error(strict)));
        }
        Ok((api_version, kind, decoded.object))
    }
}

fn items(list: &Object) -> &[Value] {
    list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn name_of(object: &Object) -> &str {
    get_str(object, &["metadata", "name"]).unwrap_or_default()
}
