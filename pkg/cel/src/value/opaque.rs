//! Values of Kubernetes' own types. Those that need memory of their own keep the text that they were read from.

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
    /// A URL that parses.
    Url(&'a str),
    /// An IP address.
    Ip(IpAddr),
    /// A network.
    Cidr(Cidr),
    /// A quantity that parses; computed ones are another type in Go, to which a read one is never equal.
    Quantity {
        /// Its text.
        text: &'a str,
        /// Whether it was computed.
        computed: bool,
    },
    /// A semantic version that parses.
    Semver {
        /// Its text.
        text: &'a str,
        /// Whether it is normalized before it is read.
        normalize: bool,
    },
    /// A named format.
    Format(&'static NamedFormat),
    /// An object that an expression made; fields by their names, ascending.
    Object {
        /// Name of its type.
        type_name: &'a str,
        /// Fields that are set.
        fields: &'a [(&'a str, Value<'a>)],
    },
    /// The authorizer, or what is asked of it so far.
    Authorizer(Check<'a>),
    /// A check of a path.
    PathCheck(Check<'a>),
    /// A check within an API group.
    GroupCheck(Check<'a>),
    /// A check of a resource.
    ResourceCheck(Check<'a>),
    /// The authorizer's answer.
    Decision(Decision<'a>),
}

/// A question to the authorizer, as far as it is put together.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Who answers.
    pub authorizer: &'a (dyn Authorizer + 'a),
    /// The service account that is asked about (namespace, name); otherwise the request's user.
    pub service_account: Option<(&'a str, &'a str)>,
    /// The path, for paths.
    pub path: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// A field selector, parsed by nobody yet.
    pub field_selector: &'a str,
    /// A label selector, parsed by nobody yet.
    pub label_selector: &'a str,
}

/// An answer of the authorizer.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: &'a str,
    /// What went wrong, if anything did.
    pub error: Option<&'a str>,
}

impl<'a> Check<'a> {
    /// The authorizer itself: nothing asked yet.
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
    /// Name of its type.
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

    /// Bytes of an address; bits of a network's prefix in bytes, rounded up.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Ip(IpAddr::V4(_)) => Some(4),
            Self::Ip(IpAddr::V6(_)) => Some(16),
            Self::Cidr(cidr) => Some(u64::from(cidr.bits).div_ceil(8)),
            _ => None,
        }
    }

    /// Its text in errors.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Url(text) | Self::Quantity { text, .. } | Self::Semver { text, .. } => (*text).to_owned(),
            Self::Ip(address) => address.to_string(),
            Self::Cidr(cidr) => cidr.to_string(),
            Self::Format(format) => format.name.to_owned(),
            _ => self.type_name().to_owned(),
        }
    }

    /// `==`. What belongs to the authorizer is equal to nothing, itself included.
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

    /// The version, if it is one.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Semver { text, normalize: true } => Version::parse_normalized(text).ok(),
            Self::Semver { text, normalize: false } => Version::parse(text).ok(),
            _ => None,
        }
    }

    /// Whether a network contains an address or another network.
    pub(crate) fn contains<'v>(&self, other: &Self) -> Value<'v> {
        match (self, other) {
            (Self::Cidr(network), Self::Ip(address)) => Value::Bool(network.contains(*address)),
            (Self::Cidr(network), Self::Cidr(inner)) => Value::Bool(network.contains_cidr(inner)),
            _ => Value::NO_SUCH_OVERLOAD,
        }
    }
}

/// The text by which URLs are compared.
fn url_text(text: &str) -> Option<String> {
    parse_url(text).ok().map(|url| url.to_string())
}

impl fmt::Display for Opaque<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
