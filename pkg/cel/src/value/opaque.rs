//! Values of Kubernetes' own types. Types that would need heap memory store the text they were parsed from.

use std::fmt;
use std::net::IpAddr;

use apimachinery::quantity::Quantity;

use super::Value;
use crate::authorizer::Authorizer;
use crate::ext::ip::Cidr;
use crate::ext::named_format::NamedFormat;
use crate::ext::semver::Version;
use crate::ext::url::parse_url;

/// A value of a library's type.
#[derive(Clone, Copy, Debug)]
pub enum Opaque<'a> {
    /// A valid URL.
    Url(&'a str),
    /// An IP address.
    Ip(IpAddr),
    /// A network.
    Cidr(Cidr),
    /// A valid quantity. Computed quantities have another Go type and never equal parsed ones.
    Quantity {
        /// The quantity as written or computed.
        text: &'a str,
        /// True for the result of arithmetic.
        computed: bool,
    },
    /// A valid semantic version.
    Semver {
        /// The version as written.
        text: &'a str,
        /// True if the text is normalized before parsing.
        normalize: bool,
    },
    /// A named format, from `format.NAME()`.
    Format(&'static NamedFormat),
    /// An object constructed by an expression; fields sorted by name.
    Object {
        /// Name of its type, such as `JSONPatch`.
        type_name: &'a str,
        /// Names and values of the fields.
        fields: &'a [(&'a str, Value<'a>)],
    },
    /// The authorizer, or a partial check.
    Authorizer(Check<'a>),
    /// A check of a non-resource path.
    PathCheck(Check<'a>),
    /// A check within an API group.
    GroupCheck(Check<'a>),
    /// A check of a resource.
    ResourceCheck(Check<'a>),
    /// The authorizer's decision.
    Decision(Decision<'a>),
}

/// A check under construction.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The host's authorizer.
    pub authorizer: &'a (dyn Authorizer + 'a),
    /// The service account to check (namespace, name); by default the request's user.
    pub service_account: Option<(&'a str, &'a str)>,
    /// The path of a non-resource check.
    pub path: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Plural resource name, such as `pods`.
    pub resource: &'a str,
    /// Subresource; empty for none.
    pub subresource: &'a str,
    /// Namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: &'a str,
    /// Object name; empty for all objects.
    pub name: &'a str,
    /// The unparsed field selector.
    pub field_selector: &'a str,
    /// The unparsed label selector.
    pub label_selector: &'a str,
}

/// A decision of the authorizer.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// True if allowed; "no opinion" counts as false.
    pub allowed: bool,
    /// Reason of the decision; may be empty.
    pub reason: &'a str,
    /// The error of the authorizer, if any.
    pub error: Option<&'a str>,
}

impl<'a> Check<'a> {
    /// Creates an empty check of the authorizer.
    pub fn of(authorizer: &'a (dyn Authorizer + 'a)) -> Self {
        Self {
            authorizer,
            service_account: None,
            path: "",
            group: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            field_selector: "",
            label_selector: "",
        }
    }
}

impl<'a> Opaque<'a> {
    /// Returns the name of the value's type in expressions.
    pub fn type_name(&self) -> &'a str {
        match self {
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity { .. } => "kubernetes.Quantity",
            Self::Semver { .. } => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Object { type_name, .. } => type_name,
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Url(_) => "cel.URL",
            Self::Ip(_) => "cel.IP",
            Self::Cidr(_) => "cel.CIDR",
            Self::Quantity { computed: false, .. } => "cel.Quantity",
            Self::Quantity { computed: true, .. } => "*cel.Quantity",
            Self::Semver { .. } => "cel.Semver",
            Self::Format(_) => "cel.Format",
            Self::Object { type_name: "JSONPatch", .. } => "*mutation.JSONPatchVal",
            Self::Object { .. } => "*dynamic.ObjectVal",
            Self::Authorizer(_) => "library.authorizerVal",
            Self::PathCheck(_) => "library.pathCheckVal",
            Self::GroupCheck(_) => "library.groupCheckVal",
            Self::ResourceCheck(_) => "library.resourceCheckVal",
            Self::Decision(_) => "library.decisionVal",
        }
    }

    /// Returns the length of an address in bytes, or of a network's prefix in bytes, rounded up.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Ip(IpAddr::V4(_)) => Some(4),
            Self::Ip(IpAddr::V6(_)) => Some(16),
            Self::Cidr(cidr) => Some(u64::from(cidr.bits).div_ceil(8)),
            _ => None,
        }
    }

    /// Formats the value for errors.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Url(text) | Self::Quantity { text, .. } | Self::Semver { text, .. } => (*text).to_owned(),
            Self::Ip(address) => address.to_string(),
            Self::Cidr(cidr) => cidr.to_string(),
            Self::Format(format) => format.name.to_owned(),
            _ => self.type_name().to_owned(),
        }
    }

    /// Computes `==`. Authorizer values equal nothing, not even themselves.
    pub(crate) fn equal<'v>(&self, other: &Self) -> Value<'v> {
        match (self, other) {
            (Self::Url(a), Self::Url(b)) => Value::Bool(url_text(a) == url_text(b)),
            (Self::Ip(a), Self::Ip(b)) => Value::Bool(a == b),
            (Self::Cidr(a), Self::Cidr(b)) => Value::Bool(a == b),
            (Self::Quantity { text: a, .. }, Self::Quantity { text: b, computed: false }) => {
                Value::Bool(a.parse::<Quantity>().ok() == b.parse().ok())
            }
            (Self::Semver { .. }, Self::Semver { .. }) => Value::Bool(self.version() == other.version()),
            (Self::Format(a), Self::Format(b)) => Value::Bool(a.name == b.name),
            _ => Value::NO_SUCH_OVERLOAD,
        }
    }

    /// Parses the version, if it is one.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Semver { text, normalize: true } => Version::parse_normalized(text).ok(),
            Self::Semver { text, normalize: false } => Version::parse(text).ok(),
            _ => None,
        }
    }

    /// Tests if a network contains an address or another network.
    pub(crate) fn contains<'v>(&self, other: &Self) -> Value<'v> {
        match (self, other) {
            (Self::Cidr(network), Self::Ip(address)) => Value::Bool(network.contains(*address)),
            (Self::Cidr(network), Self::Cidr(inner)) => Value::Bool(network.contains_cidr(inner)),
            _ => Value::NO_SUCH_OVERLOAD,
        }
    }
}

/// Returns the text by which URLs are compared.
fn url_text(text: &str) -> Option<String> {
    parse_url(text).ok().map(|url| url.to_string())
}

impl fmt::Display for Opaque<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
