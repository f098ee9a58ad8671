//! `Configuration` of `podtolerationrestriction.admission.k8s.io`: default and allowed tolerations for
//! namespaces without the annotations.

use api::tree::{children, list};
use apimachinery::field::Path;
use jsontree::Value;
use kinds::validation::kinds::validate_tolerations;
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};

use crate::PluginConfigurationError;

const TOLERATION: Members = Members {
    name: "v1.Toleration",
    all: &[
        ("key", Shape::Text),
        ("operator", Shape::Text),
        ("value", Shape::Text),
        ("effect", Shape::Text),
        ("tolerationSeconds", Shape::Int64),
    ],
};
const TOLERATIONS: Shape = Shape::List(&Shape::Struct(&TOLERATION));
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[FileKind {
        group: "podtolerationrestriction.admission.k8s.io",
        version: "v1alpha1",
        kind: "Configuration",
    }],
    scheme: "k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction/config.go:32",
    strict: false,
    members: &Members { name: "Configuration", all: &[("default", TOLERATIONS), ("whitelist", TOLERATIONS)] },
};

/// Tolerations for namespaces without the annotations. By default nothing is added and everything is allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodTolerationConfiguration {
    pub(super) default: Vec<Value>,
    pub(super) allowed: Vec<Value>,
}

impl PodTolerationConfiguration {
    /// Parses YAML or JSON.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: &[u8]) -> Result<Self, PluginConfigurationError> {
        let members = FILE.read(text)?.members;
        let root = Path::root("podtolerationrestriction");
        let of = |name: &str| validate_tolerations(&root.child(name), children(&members, name));
        let default = of("default");
        let allowed = of("whitelist");
        let errors: Vec<String> = default.iter().chain(allowed.iter()).map(ToString::to_string).collect();
        if !errors.is_empty() {
            return Err(PluginConfigurationError::Invalid(format!("invalid config: [{}]", errors.join(" "))));
        }
        let of = |name: &str| list(&members, name).to_vec();
        Ok(PodTolerationConfiguration { default: of("default"), allowed: of("whitelist") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_validated_as_upstream() {
        let check = |rest: &str, expected: Result<(), &str>| {
            let head =
                "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n";
            let got = PodTolerationConfiguration::parse(format!("{head}{rest}").as_bytes());
            assert_eq!(got.map(|_| ()).map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        };
        check("default: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]", Ok(()));
        check("more: 1", Ok(()));
        check(
            "whitelist: [{operator: Equal, value: bar, effect: NoSchedule}]",
            Err(
                "invalid config: [podtolerationrestriction.whitelist[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"]",
            ),
        );
        check(
            "default: [{key: 3}]",
            Err("json: cannot unmarshal number into Go struct field Toleration.default.key of type string"),
        );
        check(
            "default: 3",
            Err(
                "json: cannot unmarshal number into Go struct field Configuration.default of type []v1.Toleration",
            ),
        );
    }
}
