//! The Go names in gogo's errors. They follow from the JSON names except for the listed exceptions.

use std::borrow::Cow;

use crate::table::{Field, Message, Type};

/// JSON names whose Go name is not merely capitalized, sorted. A few that apply to only one of several types
/// are omitted (`image` of an RBD volume is `RBDImage`).
const GO_NAMES: &[(&str, &str)] = &[
    ("$ref", "Ref"),
    ("$schema", "Schema"),
    ("apiGroup", "APIGroup"),
    ("apiGroups", "APIGroups"),
    ("apiServerID", "APIServerID"),
    ("apiVersion", "APIVersion"),
    ("apiVersions", "APIVersions"),
    ("awsElasticBlockStore", "AWSElasticBlockStore"),
    ("bool", "BoolValue"),
    ("bools", "BoolValues"),
    ("caBundle", "CABundle"),
    ("cel", "CEL"),
    ("cephfs", "CephFS"),
    ("chapAuthDiscovery", "DiscoveryCHAPAuth"),
    ("chapAuthSession", "SessionCHAPAuth"),
    ("cidr", "CIDR"),
    ("cidrs", "CIDRs"),
    ("csi", "CSI"),
    ("diskURI", "DataDiskURI"),
    ("dnsConfig", "DNSConfig"),
    ("dnsPolicy", "DNSPolicy"),
    ("externalID", "DoNotUseExternalID"),
    ("fc", "FC"),
    ("fsGroup", "FSGroup"),
    ("fsGroupChangePolicy", "FSGroupChangePolicy"),
    ("fsGroupPolicy", "FSGroupPolicy"),
    ("fsType", "FSType"),
    ("gcePersistentDisk", "GCEPersistentDisk"),
    ("gid", "GID"),
    ("gmsaCredentialSpec", "GMSACredentialSpec"),
    ("gmsaCredentialSpecName", "GMSACredentialSpecName"),
    ("grpc", "GRPC"),
    ("http", "HTTP"),
    ("httpGet", "HTTPGet"),
    ("httpHeaders", "HTTPHeaders"),
    ("id", "ID"),
    ("int", "IntValue"),
    ("ints", "IntValues"),
    ("ip", "IP"),
    ("ipBlock", "IPBlock"),
    ("ipFamilies", "IPFamilies"),
    ("ipFamilyPolicy", "IPFamilyPolicy"),
    ("ipMode", "IPMode"),
    ("ips", "IPs"),
    ("iqn", "IQN"),
    ("iscsi", "ISCSI"),
    ("iscsiInterface", "ISCSIInterface"),
    ("jsonPatch", "JSONPatch"),
    ("jsonPath", "JSONPath"),
    ("lastState", "LastTerminationState"),
    ("nfs", "NFS"),
    ("os", "OS"),
    ("osImage", "OSImage"),
    ("pdName", "PDName"),
    ("pkixPublicKey", "PKIXPublicKey"),
    ("qosClass", "QOSClass"),
    ("rbd", "RBD"),
    ("reportingComponent", "ReportingController"),
    ("seLinuxChangePolicy", "SELinuxChangePolicy"),
    ("seLinuxMount", "SELinuxMount"),
    ("seLinuxOptions", "SELinuxOptions"),
    ("sslEnabled", "SSLEnabled"),
    ("storageos", "StorageOS"),
    ("string", "StringValue"),
    ("strings", "StringValues"),
    ("tcpSocket", "TCPSocket"),
    ("tls", "TLS"),
    ("ttlSecondsAfterFinished", "TTLSecondsAfterFinished"),
    ("tty", "TTY"),
    ("uid", "UID"),
    ("url", "URL"),
    ("wwids", "WWIDs"),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource"),
    ("x-kubernetes-int-or-string", "XIntOrString"),
    ("x-kubernetes-list-map-keys", "XListMapKeys"),
    ("x-kubernetes-list-type", "XListType"),
    ("x-kubernetes-map-type", "XMapType"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// The Go name of a type without its package.
pub(crate) fn short_name(message: &'static Message) -> &'static str {
    message.name.rsplit('.').next().unwrap_or_default()
}

#[cold]
pub(crate) fn field_name(field: &'static Field) -> Cow<'static, str> {
    match field.ty {
        // Embedded structs are named after their type.
        Type::Message(inner) if field.inlined() || field.name == "metadata" => {
            return Cow::Borrowed(short_name(inner));
        }
        _ => {}
    }
    let listed = GO_NAMES.binary_search_by(|(json, _)| (*json).cmp(field.name)).ok();
    if let Some((_, go)) = listed.and_then(|at| GO_NAMES.get(at)) {
        return Cow::Borrowed(*go);
    }
    let mut name = field.name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn the_exceptions_are_sorted() {
        assert!(GO_NAMES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn fields_have_go_names() {
        let check = |ty: &str, member: &str, expected: &str| {
            let field = builtin::message(ty).unwrap().fields.iter().find(|f| f.name == member).unwrap();
            assert_eq!(field_name(field), expected);
        };
        check("io.k8s.api.core.v1.Secret", "metadata", "ObjectMeta");
        check("io.k8s.api.core.v1.SecretList", "metadata", "ListMeta");
        check("io.k8s.api.core.v1.Secret", "stringData", "StringData");
        check("io.k8s.api.core.v1.PodIP", "ip", "IP");
        check("io.k8s.api.core.v1.Volume", "", "VolumeSource");
    }
}
