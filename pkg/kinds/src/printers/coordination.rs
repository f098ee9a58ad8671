//! Rows of leases and lease candidates.

use super::column::{AGE, Column, NAME, text};

pub(super) static LEASE_CANDIDATE: &[Column] = &[
    NAME,
    text("LeaseName", |object, _| object.at("spec.leaseName").into())
        .described_as("io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec", "leaseName"),
    text("BinaryVersion", |object, _| object.at("spec.binaryVersion").into()),
    text("EmulationVersion", |object, _| object.at("spec.emulationVersion").into()),
    AGE,
];

pub(super) static LEASE: &[Column] = &[
    NAME,
    text("Holder", |object, _| object.at("spec.holderIdentity").into())
        .described_as("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity"),
    AGE,
];
