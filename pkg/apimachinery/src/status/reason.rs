//! `metav1.StatusReason`: the machine-readable reason of a `Status`.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! reasons {
    ($($name:ident),+ $(,)?) => {
        /// The reasons of `metav1.StatusReason`, by upstream's names.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub enum Reason {
            /// Sent as the empty string.
            #[default]
            Unknown,
            $(#[doc = concat!("Sent as `", stringify!($name), "`.")] $name,)+
            /// A reason that a webhook or an aggregated server sent; passed on unchanged.
            Other(Box<str>),
        }

        impl Reason {
            /// Text on the wire; empty for [`Reason::Unknown`].
            pub fn as_str(&self) -> &str {
                match self {
                    Reason::Unknown => "",
                    $(Reason::$name => stringify!($name),)+
                    Reason::Other(text) => text,
                }
            }

            fn known(text: &str) -> Option<Self> {
                match text {
                    "" => Some(Reason::Unknown),
                    $(stringify!($name) => Some(Reason::$name),)+
                    _ => None,
                }
            }

            #[cfg(test)]
            pub(crate) const NAMED: &[Reason] = &[$(Reason::$name),+];
        }
    };
}

reasons! {
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    StorageReadError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
}

impl Reason {
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Reason::Unknown
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Reason::known(text).unwrap_or_else(|| Reason::Other(text.into()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_a_round_trip() {
        for reason in Reason::NAMED {
            assert_eq!(Reason::from(reason.as_str()), *reason);
            assert_eq!(serde_json::to_value(reason).unwrap(), format!("{reason:?}"));
        }
        for text in ["", "Teapot", "notFound"] {
            assert_eq!(Reason::from(text).as_str(), text);
        }
        assert_eq!(Reason::from("Teapot"), Reason::Other("Teapot".into()));
        assert!(Reason::from("").is_unknown());
    }
}
