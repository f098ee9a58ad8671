//! Decodes the options in the body of a deletion.

use apimachinery::gvk::split_api_version;
use apimachinery::status::Status;
use schema::json::errors;
use schema::memory::DecodeBudget;
use schema::object::Object;
use schema::proto::{self, Envelope};
use schema::table::Message;
use schema::{builtin, cbor, json, yaml};

use super::{INTERNAL, envelope_version};
use crate::negotiation::Format;

/// Group of the options, which is also the default group of a body.
const META_GROUP: &str = "meta.k8s.io";
const META_V1: &str = "meta.k8s.io/v1";
const OPTIONS: &str = "DeleteOptions";
/// Upstream's name of the scheme of the options.
const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/// Decodes deletion options. `DeleteOptions` of any group version is accepted.
///
/// # Errors
/// 400.
pub(crate) fn decode_options(body: &[u8], format: Format) -> Result<Object, Box<Status>> {
    let message = &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS;
    let budget = DecodeBudget::of_body(body.len());
    if format == Format::Protobuf {
        let envelope = Envelope::parse(body).map_err(failed)?;
        let api_version = envelope_version(&envelope.api_version).unwrap_or(META_V1);
        check_kind(api_version, &envelope.kind, |other| {
            proto::decode_within(other, envelope.raw, budget).map(drop).map_err(failed)
        })?;
        return proto::decode_within(message, envelope.raw, budget).map_err(failed);
    }
    if format == Format::Cbor {
        let head = cbor::type_meta(body).map_err(failed)?;
        check_kind(&head.api_version, &head.kind, |other| {
            cbor::decode_within(other, body, budget).map(drop).map_err(failed)
        })?;
        return Ok(cbor::decode_within(message, body, budget).map_err(failed)?.object);
    }
    let converted;
    let text = match format {
        Format::Yaml => {
            converted = yaml::to_json(body).map_err(failed)?;
            &converted.json[..]
        }
        _ => body,
    };
    let head = json::type_meta(text).map_err(failed)?;
    check_kind(&head.api_version, &head.kind, |other| {
        json::decode_within(other, text, budget).map(drop).map_err(failed)
    })?;
    Ok(json::decode_within(message, text, budget).map_err(failed)?.object)
}

fn failed(error: impl ToString) -> Box<Status> {
    Status::bad_request(error.to_string()).into()
}

/// Checks the kind of a body. Upstream decodes the body of another kind in the scheme before it finds that the kind
/// does not convert; `decode` makes this attempt.
///
/// # Errors
/// The kind is not in the scheme, cannot be decoded, or does not convert.
fn check_kind(
    api_version: &str,
    kind: &str,
    decode: impl FnOnce(&'static Message) -> Result<(), Box<Status>>,
) -> Result<(), Box<Status>> {
    if kind.is_empty() || kind == OPTIONS {
        return Ok(());
    }
    let (group, version) = match split_api_version(api_version) {
        ("", "") => (META_GROUP, "v1"),
        (META_GROUP, "") => (META_GROUP, "v1"),
        parsed => parsed,
    };
    let Some(go_name) = registered(group, version, kind) else {
        let full = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        return Err(failed(match version {
            INTERNAL => errors::not_registered_internal(kind, group, SCHEME),
            _ => errors::not_registered(kind, &full, SCHEME),
        }));
    };
    if let Some(other) = builtin::kind("v1", kind) {
        decode(other)?;
    }
    Err(failed(format!("converting ({go_name}) to (v1.{OPTIONS}): unknown conversion")))
}

/// Returns the Go name of a kind in the scheme of the options, except the options themselves.
fn registered(group: &str, version: &str, kind: &str) -> Option<String> {
    let package = match (group, version, kind) {
        // These kinds have no version.
        (
            ..,
            "CreateOptions" | "UpdateOptions" | "Status" | "APIVersions" | "APIGroup" | "APIGroupList"
            | "APIResourceList",
        ) => "v1",
        (META_GROUP, INTERNAL, "WatchEvent") => return Some("v1.InternalEvent".to_owned()),
        (META_GROUP, INTERNAL, "ListOptions") => "internalversion",
        (META_GROUP, INTERNAL | "v1beta1", "PartialObjectMetadataList") => "v1beta1",
        (META_GROUP, INTERNAL, "GetOptions") => "v1",
        (META_GROUP, INTERNAL | "v1" | "v1beta1", "Table" | "TableOptions" | "PartialObjectMetadata") => "v1",
        (
            META_GROUP,
            "v1",
            "ListOptions" | "GetOptions" | "PatchOptions" | "WatchEvent" | "PartialObjectMetadataList",
        ) => "v1",
        _ => return None,
    };
    Some(format!("{package}.{kind}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_may_be_cbor() {
        let options = decode_options(b"\xa1\x52gracePeriodSeconds\x05", Format::Cbor);
        assert_eq!(options.unwrap().get("gracePeriodSeconds"), Some(&5.into()));
        let refused = decode_options(b"\xa1\x44kind\x43Pod", Format::Cbor);
        assert_eq!(refused.unwrap_err().code, 400);
    }

    #[test]
    fn other_kinds_are_rejected() {
        let check = |body: &str, expected: &str| {
            let refused = decode_options(body.as_bytes(), Format::Json).unwrap_err();
            assert_eq!((refused.code, refused.message.as_str()), (400, expected), "{body}");
        };
        let unknown = |from: &str| format!("converting ({from}) to (v1.DeleteOptions): unknown conversion");
        check(r#"{"kind":"Status","apiVersion":"apps/v1"}"#, &unknown("v1.Status"));
        check(r#"{"kind":"Table"}"#, &unknown("v1.Table"));
        check(
            r#"{"kind":"ListOptions","apiVersion":"meta.k8s.io/__internal"}"#,
            &unknown("internalversion.ListOptions"),
        );
        let mistyped =
            "json: cannot unmarshal string into Go struct field Status.metadata of type v1.ListMeta";
        check(r#"{"kind":"Status","apiVersion":"v1","metadata":"x"}"#, mistyped);
        let missing = |version| {
            format!("no kind \"Pod\" is registered for version \"{version}\" in scheme \"{SCHEME}\"")
        };
        check(r#"{"kind":"Pod","apiVersion":"v1"}"#, &missing("v1"));
        check(r#"{"kind":"Pod"}"#, &missing("meta.k8s.io/v1"));
        check(r#"{"kind":"Pod","apiVersion":"/v1"}"#, &missing("v1"));
    }

    #[test]
    fn options_of_any_group_are_accepted() {
        for version in ["v1", "apps/v1", "nope/v1", ""] {
            let body = format!(r#"{{"kind":"DeleteOptions","apiVersion":"{version}"}}"#);
            assert!(decode_options(body.as_bytes(), Format::Json).is_ok(), "{version}");
        }
    }
}
