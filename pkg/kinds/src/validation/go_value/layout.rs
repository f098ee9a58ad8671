//! Names and order of fields in upstream's internal types, where they differ from v1.

use std::borrow::Cow;

/// Returns the Go name of an internal type's field, by the type's definition and the field's JSON name.
pub(crate) fn go_name(definition: &str, name: &str) -> Cow<'static, str> {
    let exception = OWN_NAMES.iter().find(|(types, field, _)| *field == name && definition.contains(types));
    if let Some((_, _, go_name)) = exception {
        return Cow::Borrowed(go_name);
    }
    if let Ok(at) = NAMES.binary_search_by(|(listed, _)| listed.cmp(&name)) {
        return NAMES.get(at).map_or(Cow::Borrowed(""), |(_, go_name)| Cow::Borrowed(go_name));
    }
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    Cow::Owned(first.into_iter().chain(chars).collect())
}

/// Returns the JSON names of a type's fields in the order of the internal type, if it differs from v1.
pub(crate) fn order(definition: &str) -> Option<&'static [&'static str]> {
    ORDERS.iter().find(|(listed, _)| *listed == definition).map(|(_, names)| *names)
}

/// Fields with a different name in some types: part of the definition, JSON name, Go name.
const OWN_NAMES: &[(&str, &str, &str)] = &[
    (".RBD", "image", "RBDImage"),
    (".RBD", "monitors", "CephMonitors"),
    (".RBD", "pool", "RBDPool"),
    (".RBD", "user", "RadosUser"),
    (".AzureDisk", "diskURI", "DataDiskURI"),
    (".ContainerStatus", "lastState", "LastTerminationState"),
    (".DeviceAttribute", "bool", "BoolValue"),
    (".DeviceAttribute", "bools", "BoolValues"),
    (".DeviceAttribute", "int", "IntValue"),
    (".DeviceAttribute", "ints", "IntValues"),
    (".DeviceAttribute", "string", "StringValue"),
    (".DeviceAttribute", "strings", "StringValues"),
    (".DeviceAttribute", "version", "VersionValue"),
    (".DeviceAttribute", "versions", "VersionValues"),
    (".Glusterfs", "endpoints", "EndpointsName"),
    (".ISCSI", "chapAuthDiscovery", "DiscoveryCHAPAuth"),
    (".ISCSI", "chapAuthSession", "SessionCHAPAuth"),
    (".JSONSchemaProps", "$ref", "Ref"),
    (".JSONSchemaProps", "$schema", "Schema"),
    (".JSONSchemaProps", "id", "ID"),
    (".JSONSchemaProps", "x-kubernetes-embedded-resource", "XEmbeddedResource"),
    (".JSONSchemaProps", "x-kubernetes-int-or-string", "XIntOrString"),
    (".JSONSchemaProps", "x-kubernetes-list-map-keys", "XListMapKeys"),
    (".JSONSchemaProps", "x-kubernetes-list-type", "XListType"),
    (".JSONSchemaProps", "x-kubernetes-map-type", "XMapType"),
    (".JSONSchemaProps", "x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    (".JSONSchemaProps", "x-kubernetes-validations", "XValidations"),
    (".NodeSpec", "externalID", "DoNotUseExternalID"),
    (".PodSpec", "serviceAccount", "DeprecatedServiceAccount"),
];

/// Fields whose Go name starts with an abbreviation or contains one that JSON spells differently; sorted.
#[rustfmt::skip]
const NAMES: &[(&str, &str)] = &[
    ("apiGroup", "APIGroup"), ("apiGroups", "APIGroups"), ("apiServerID", "APIServerID"),
    ("apiVersion", "APIVersion"), ("apiVersions", "APIVersions"),
    ("awsElasticBlockStore", "AWSElasticBlockStore"), ("caBundle", "CABundle"), ("cel", "CEL"),
    ("cephfs", "CephFS"), ("cidr", "CIDR"), ("cidrs", "CIDRs"), ("csi", "CSI"), ("dnsConfig", "DNSConfig"),
    ("dnsPolicy", "DNSPolicy"), ("fc", "FC"), ("fsGroup", "FSGroup"),
    ("fsGroupChangePolicy", "FSGroupChangePolicy"), ("fsGroupPolicy", "FSGroupPolicy"),
    ("fsType", "FSType"), ("gcePersistentDisk", "GCEPersistentDisk"), ("gid", "GID"),
    ("gmsaCredentialSpec", "GMSACredentialSpec"), ("gmsaCredentialSpecName", "GMSACredentialSpecName"),
    ("grpc", "GRPC"), ("http", "HTTP"), ("httpGet", "HTTPGet"), ("httpHeaders", "HTTPHeaders"),
    ("ip", "IP"), ("ipBlock", "IPBlock"), ("ipFamilies", "IPFamilies"),
    ("ipFamilyPolicy", "IPFamilyPolicy"), ("ipMode", "IPMode"), ("ips", "IPs"), ("iqn", "IQN"),
    ("iscsi", "ISCSI"), ("iscsiInterface", "ISCSIInterface"), ("jsonPatch", "JSONPatch"),
    ("jsonPath", "JSONPath"), ("nfs", "NFS"),
    ("os", "OS"), ("osImage", "OSImage"), ("pdName", "PDName"),
    ("pkixPublicKey", "PKIXPublicKey"), ("qosClass", "QOSClass"), ("rbd", "RBD"),
    ("seLinuxChangePolicy", "SELinuxChangePolicy"), ("seLinuxMount", "SELinuxMount"),
    ("seLinuxOptions", "SELinuxOptions"), ("sslEnabled", "SSLEnabled"), ("storageos", "StorageOS"),
    ("tcpSocket", "TCPSocket"), ("tls", "TLS"), ("ttlSecondsAfterFinished", "TTLSecondsAfterFinished"),
    ("tty", "TTY"), ("uid", "UID"), ("url", "URL"), ("wwids", "WWIDs"),
];

/// Types with another field order.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "io.k8s.api.core.v1.NodeSpec",
        &[
            "podCIDRs",
            "providerID",
            "unschedulable",
            "taints",
            "configSource",
            "externalID",
            "podPreemptionPolicy",
        ],
    ),
    ("io.k8s.api.autoscaling.v2.ContainerResourceMetricSource", &["name", "container", "target"]),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1.JSONSchemaProps",
        &[
            "id",
            "$schema",
            "$ref",
            "description",
            "type",
            "nullable",
            "format",
            "title",
            "default",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "multipleOf",
            "enum",
            "maxProperties",
            "minProperties",
            "required",
            "items",
            "allOf",
            "oneOf",
            "anyOf",
            "not",
            "properties",
            "additionalProperties",
            "patternProperties",
            "dependencies",
            "additionalItems",
            "definitions",
            "externalDocs",
            "example",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
            "x-kubernetes-validations",
        ],
    ),
];
