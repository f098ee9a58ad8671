//! Facts about a Kubernetes release: the files of one folder, read on demand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// A facts folder.
pub(crate) struct Facts {
    folder: PathBuf,
}

impl Facts {
    /// Opens a folder.
    ///
    /// # Errors
    /// The folder, or its file `types.json`, does not exist.
    pub(crate) fn open(folder: &str) -> Result<Self, Error> {
        for path in [PathBuf::from(folder), Path::new(folder).join("types.json")] {
            if !path.exists() {
                return Err(Error::MissingInput { name: "FACTS", path: path.display().to_string() });
            }
        }
        Ok(Self { folder: PathBuf::from(folder) })
    }

    /// Reads a JSON file of the folder.
    ///
    /// # Errors
    /// The file does not exist or has an unexpected form.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let path = self.folder.join(name).display().to_string();
        let text = std::fs::read_to_string(&path).map_err(Error::of(path.clone()))?;
        serde_json::from_str(&text).map_err(|source| Error::Json { path, source })
    }
}

/// Types by OpenAPI definition name.
pub(crate) type Types = BTreeMap<String, Type>;

/// A type of `types.json`.
#[derive(Deserialize)]
pub(crate) struct Type {
    /// Protobuf message name. Absent for a type without a wire form.
    #[serde(rename = "pb")]
    pub(crate) wire_name: Option<String>,
    /// Registered kinds, as `group/version Kind` or `* Kind`.
    #[serde(rename = "gvk", default)]
    pub(crate) kinds: Vec<String>,
    pub(crate) introduced: Option<String>,
    pub(crate) deprecated: Option<String>,
    pub(crate) removed: Option<String>,
    /// As `group/version Kind`.
    pub(crate) replacement: Option<String>,
    /// Name of a JSON form that the fields do not describe.
    pub(crate) special: Option<String>,
    /// Type of the list for which the type stands in JSON.
    pub(crate) wrapper: Option<String>,
    #[serde(rename = "noOpenAPI", default)]
    pub(crate) no_openapi: bool,
    #[serde(rename = "x-kubernetes-map-type")]
    pub(crate) map_type: Option<String>,
    #[serde(rename = "x-kubernetes-unions")]
    pub(crate) unions: Option<Value>,
    #[serde(default)]
    pub(crate) fields: Vec<Field>,
}

/// A field of `types.json`, in JSON member order.
#[derive(Deserialize)]
pub(crate) struct Field {
    /// JSON name. Absent for an inlined struct.
    #[serde(rename = "n")]
    pub(crate) name: Option<String>,
    #[serde(rename = "pb")]
    pub(crate) number: Option<u32>,
    /// Protobuf name, if it differs from the JSON name.
    #[serde(rename = "pbn")]
    pub(crate) wire_name: Option<String>,
    #[serde(rename = "type")]
    pub(crate) type_expression: String,
    #[serde(rename = "ptr", default)]
    pub(crate) pointer: bool,
    #[serde(rename = "oe", default)]
    pub(crate) omit_empty: bool,
    #[serde(rename = "oz", default)]
    pub(crate) omit_zero: bool,
    #[serde(rename = "req", default)]
    pub(crate) required: bool,
    #[serde(rename = "def")]
    pub(crate) default: Option<Value>,
    #[serde(rename = "enum", default)]
    pub(crate) enum_values: Vec<String>,
    #[serde(rename = "itemEnum", default)]
    pub(crate) item_enum_values: Vec<String>,
    #[serde(rename = "itemDef")]
    pub(crate) item_default: Option<Value>,
    #[serde(rename = "min")]
    pub(crate) minimum: Option<Value>,
    #[serde(rename = "max")]
    pub(crate) maximum: Option<Value>,
    #[serde(rename = "cel")]
    pub(crate) validations: Option<Value>,
    #[serde(rename = "ps")]
    pub(crate) patch_strategy: Option<String>,
    #[serde(rename = "pmk")]
    pub(crate) patch_merge_key: Option<String>,
    #[serde(rename = "lt")]
    pub(crate) list_type: Option<String>,
    #[serde(rename = "lmk", default)]
    pub(crate) list_map_keys: Vec<String>,
    #[serde(rename = "mt")]
    pub(crate) map_type: Option<String>,
}

/// Returns the release that the types describe, as `1.37`: the newest one that introduced a type.
pub(crate) fn release(types: &Types) -> String {
    let minor = |text: &String| text.strip_prefix("1.")?.parse::<u32>().ok();
    let newest = types.values().filter_map(|ty| ty.introduced.as_ref()).filter_map(minor).max();
    format!("1.{}", newest.unwrap_or(0))
}
